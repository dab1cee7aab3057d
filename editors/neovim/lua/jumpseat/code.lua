--- Code blocks of a chat.
local chat = require('jumpseat.chat')
local log = require('jumpseat.log')

local M = {}

--- The fenced block around a line, else the last one of the buffer.
---@param buf integer
---@param row integer from 1
---@return string[]?
local function block_at(buf, row)
  local found, fence, first
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  for number, line in ipairs(lines) do
    local marks = line:match('^(```+)') or line:match('^(~~~+)')
    if not fence and marks then
      fence, first = marks, number
    elseif fence and line:match('^' .. fence .. '%s*$') then
      found = vim.list_slice(lines, first + 1, number - 1)
      if row >= first and row <= number then return found end
      fence = nil
    end
  end
  return found
end

---@param buf integer
---@return string[]?
local function current(buf)
  local lines = block_at(buf, vim.api.nvim_win_get_cursor(0)[1])
  if not lines then log.warn('There is no code block in this buffer.') end
  return lines
end

--- Yank the code block at the cursor, or the last one.
---@param buf integer
function M.yank(buf)
  local lines = current(buf)
  if not lines then return end
  vim.fn.setreg('"', lines, 'l')
  pcall(vim.fn.setreg, '+', lines, 'l')
  log.notify(('Yanked %d lines.'):format(#lines))
end

--- Insert the code block at the cursor, or the last one, into the last buffer that is not a chat.
---@param buf integer
function M.insert(buf)
  local lines = current(buf)
  if not lines then return end
  local target = chat.source()
  if not target then return log.warn('There is no file to insert it into: open one beside the chat.') end
  local win = vim.fn.win_findbuf(target)[1]
  local row = win and vim.api.nvim_win_get_cursor(win)[1] or vim.fn.getbufinfo(target)[1].lnum
  vim.api.nvim_buf_set_lines(target, row, row, false, lines)
end

return M
