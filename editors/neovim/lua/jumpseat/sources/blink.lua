--- The source for blink.cmp, which `jumpseat.sources` registers.
local chats = require('jumpseat.core.chats')
local complete = require('jumpseat.input.complete')

local M = {}

function M.new() return M end

---@return boolean
function M.enabled() return chats.get(vim.api.nvim_get_current_buf()) ~= nil end

---@return string[]
function M.get_trigger_characters() return { '@', '/', ':' } end

---@param _ table
---@param _context table
---@param callback fun(response: table)
function M.get_completions(_, _context, callback)
  complete.request_lsp(
    function(items) callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true }) end
  )
end

return M
