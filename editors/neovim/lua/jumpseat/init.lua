--- What users and other plug-ins call.
local M = {}

--- Set options; the same as `vim.g.jumpseat`, and not necessary.
---@param options? jumpseat.Options
function M.setup(options) vim.g.jumpseat = vim.tbl_extend('force', vim.g.jumpseat or {}, options or {}) end

--- A short text for the status line: what the chat in this buffer does. Loads nothing and asks nothing.
---@return string
function M.statusline()
  local view = package.loaded['jumpseat.view']
  local status = view and view.status(vim.api.nvim_get_current_buf()) or {}
  local model = status.model and status.model:gsub('^[^:]*:', '') or nil
  return table.concat(
    vim.tbl_filter(function(part) return part end, { model or false, status.state or false }),
    ' '
  )
end

return M
