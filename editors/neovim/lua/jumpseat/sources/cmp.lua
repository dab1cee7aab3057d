--- The source for nvim-cmp, which `jumpseat.sources` registers.
local chats = require('jumpseat.core.chats')
local complete = require('jumpseat.input.complete')

local M = {}

---@return boolean
function M.is_available() return chats.get(vim.api.nvim_get_current_buf()) ~= nil end

---@return string
function M.get_position_encoding_kind() return 'utf-8' end

---@return string[]
function M.get_trigger_characters() return { '@', '/', ':' } end

---@return string
function M.get_keyword_pattern() return [[\S\+]] end

---@param _ table
---@param _params table
---@param callback fun(response: table)
function M.complete(_, _params, callback)
  complete.request_lsp(function(items) callback({ items = items, isIncomplete = true }) end)
end

return M
