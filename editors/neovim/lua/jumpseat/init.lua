--- What users and other plug-ins call.
local M = {}

--- Set options; the same as `vim.g.jumpseat`, and not necessary.
---@param options? jumpseat.Options
function M.setup(options) vim.g.jumpseat = vim.tbl_extend('force', vim.g.jumpseat or {}, options or {}) end

--- A short text for the status line: what the chat in this buffer does. Loads nothing and asks nothing.
---@return string
function M.statusline()
  local view = package.loaded['jumpseat.display.view']
  if not view then return '' end
  local buf = vim.api.nvim_get_current_buf()
  local model = (view.status(buf).model or ''):gsub('^[^:]*:', '')
  return vim.trim(model .. ' ' .. (view.label(buf) or ''))
end

return M
