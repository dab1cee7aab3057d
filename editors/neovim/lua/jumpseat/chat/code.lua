--- The code blocks of a chat.
local chats = require('jumpseat.core.chats')
local escapes = require('jumpseat.core.escapes')
local log = require('jumpseat.core.log')

local M = {}

---@class jumpseat.Fence
---@field prefix string the text before the fence: indentation, quote markers, the marker of a list item
---@field marks string the backticks or tildes
---@field info string the words after the marks, such as the language

---@class jumpseat.CodeBlock
---@field lines string[] the code as the model wrote it
---@field info string the words after the marks of the fence; empty for an indented block
---@field above string[] the lines of the chat above the block

--- Return the opening fence of a code block if the line has one, even inside a list or a quote.
---@param line string
---@return jumpseat.Fence?
local function parse_fence(line)
  local lead, rest = line:match('^([%s>]*)(.*)$')
  local item = rest:match('^[-*+]%s+') or rest:match('^%d+[.)]%s+') or ''
  rest = rest:sub(#item + 1)
  local marks = rest:match('^(```+)[^`]*$') or rest:match('^~~~+')
  return marks and { prefix = lead .. item, marks = marks, info = vim.trim(rest:sub(#marks + 1)) }
end

---@param line string
---@param fence jumpseat.Fence
---@return boolean
local function is_closing(line, fence)
  local marks = line:match('^[%s>]*([`~]+)%s*$')
  return marks ~= nil and #marks >= #fence.marks and marks == fence.marks:sub(1, 1):rep(#marks)
end

--- Remove white space from the start of each line, and also quote markers if the prefix has any. Remove at most as many
--- characters as the prefix has.
---@param lines string[]
---@param prefix string
---@return string[]
local function remove_prefix(lines, prefix)
  local removed = prefix:find('>', 1, true) and '^[%s>]*' or '^%s*'
  return vim.tbl_map(function(line) return line:sub(#line:sub(1, #prefix):match(removed) + 1) end, lines)
end

---@param line string?
---@return boolean
local function is_blank(line) return line == nil or not line:find('%S') end

--- Return the indented code block (without a fence) around a line.
---@param lines string[]
---@param row integer from 1
---@return jumpseat.CodeBlock?
local function find_indented(lines, row)
  local function is_part(line) return line and (line:find('^    ') or line:find('^\t') or is_blank(line)) end
  if is_blank(lines[row]) or not is_part(lines[row]) then return end
  local first, last = row, row
  while is_part(lines[first - 1]) do
    first = first - 1
  end
  while is_part(lines[last + 1]) do
    last = last + 1
  end
  -- Indented lines directly below a paragraph belong to it: they are not code.
  if not is_blank(lines[first]) and not is_blank(lines[first - 1]) then return end
  while is_blank(lines[first]) do
    first = first + 1
  end
  while is_blank(lines[last]) do
    last = last - 1
  end
  local block, common = escapes.remove(vim.list_slice(lines, first, last), escapes.find_headings(lines)), nil
  for _, line in ipairs(block) do
    local indentation = line:match('^%s*')
    if not is_blank(line) and (not common or #indentation < #common) then common = indentation end
  end
  return { lines = remove_prefix(block, common), info = '', above = vim.list_slice(lines, 1, first - 1) }
end

--- Return the code block around a line, or else the last fenced one in the buffer.
---@param buf integer
---@param row integer from 1
---@return jumpseat.CodeBlock?
local function find_block(buf, row)
  local found, fence, first
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local headings = escapes.find_headings(lines)
  for number, line in ipairs(lines) do
    if not fence then
      fence, first = parse_fence(line), number
    elseif is_closing(line, fence) then
      local block = vim.list_slice(lines, first + 1, number - 1)
      found = {
        lines = remove_prefix(escapes.remove(block, headings), fence.prefix),
        info = fence.info,
        above = vim.list_slice(lines, 1, first - 1),
      }
      if row >= first and row <= number then return found end
      fence = nil
    end
  end
  return find_indented(lines, row) or found
end

--- Return the code block at the cursor, or the last one. If there is none, warn the user.
---@param buf integer
---@return jumpseat.CodeBlock?
function M.find_current(buf)
  local block = find_block(buf, vim.api.nvim_win_get_cursor(0)[1])
  if not block then log.warn('There is no code block in this buffer.') end
  return block
end

--- Yank the code block at the cursor, or the last one.
---@param buf integer
function M.yank(buf)
  local block = M.find_current(buf)
  if not block then return end
  vim.fn.setreg('"', block.lines, 'l')
  pcall(vim.fn.setreg, '+', block.lines, 'l')
  log.notify(('Yanked %d lines.'):format(#block.lines))
end

--- Take the code block at the cursor, or the last one, and insert it into the last buffer that is not a chat, below the
--- cursor in that buffer.
---@param buf integer
function M.insert(buf)
  local block = M.find_current(buf)
  if not block then return end
  local target = chats.source()
  if not target then return log.warn('No file is open beside the chat. Open one to insert the code.') end
  if not vim.bo[target].modifiable then
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(target))
    return log.warn(("Code cannot be inserted into %s: 'modifiable' is off."):format(name))
  end
  local win = vim.fn.win_findbuf(target)[1]
  local row = win and vim.api.nvim_win_get_cursor(win)[1] or vim.fn.getbufinfo(target)[1].lnum
  vim.api.nvim_buf_set_lines(target, row, row, false, block.lines)
end

return M
