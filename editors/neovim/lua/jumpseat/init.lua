--- The functions for users and other plug-ins.
local M = {}

--- Set options. This is optional, and the same as setting `vim.g.jumpseat`.
---@param options? jumpseat.Options
function M.setup(options) vim.g.jumpseat = vim.tbl_extend('force', vim.g.jumpseat or {}, options or {}) end

--- Return the state of the chat in this buffer for the status line, and whether calls of tools wait in any chat. This
--- neither loads modules nor sends requests.
---@return string
function M.statusline()
  local view = package.loaded['jumpseat.display.view']
  if not view then return '' end
  local buf = vim.api.nvim_get_current_buf()
  local approvals = package.loaded['jumpseat.tools.approvals']
  local waiting = approvals and approvals.count() or 0
  local sign = waiting == 1 and '1 call waits for approval'
    or waiting > 1 and waiting .. ' calls wait for approval'
    or ''
  local model = (view.status(buf).model or ''):gsub('^[^:]*:', '')
  local label = view.status(buf).state ~= 'approving' and view.label(buf) or ''
  return vim.trim(table.concat({ model, label, sign }, ' '))
end

return M
