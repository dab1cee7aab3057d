--- The functions for users and other plug-ins.
local M = {}

--- Set options. This is optional, and the same as setting `vim.g.jumpseat`.
---@param options? jumpseat.Options
function M.setup(options) vim.g.jumpseat = vim.tbl_extend('force', vim.g.jumpseat or {}, options or {}) end

--- Return the state of the chat in this buffer for the status line. This neither loads modules nor sends requests.
---@return string
function M.statusline()
  local view = package.loaded['jumpseat.display.view']
  if not view then return '' end
  local buf = vim.api.nvim_get_current_buf()
  local model = (view.status(buf).model or ''):gsub('^[^:]*:', '')
  return vim.trim(model .. ' ' .. (view.label(buf) or ''))
end

return M
