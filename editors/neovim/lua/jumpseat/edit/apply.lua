--- Shows the code blocks of a chat as changes to their files. The user reviews these changes like an edit.
local chats = require('jumpseat.core.chats')
local code = require('jumpseat.chat.code')
local diff = require('jumpseat.edit.diff')
local edits = require('jumpseat.edit')
local file = require('jumpseat.edit.file')
local log = require('jumpseat.core.log')
local patch = require('jumpseat.edit.patch')
local place = require('jumpseat.edit.place')
local review = require('jumpseat.edit.review')

local M = {}

---@class jumpseat.Change
---@field buf integer
---@field row integer
---@field old string[]
---@field new string[]

--- Return a block without blank lines at its edges.
---@param block jumpseat.CodeBlock
---@return jumpseat.CodeBlock
local function trim(block)
  local first, last = 1, #block.lines
  while first < last and not block.lines[first]:find('%S') do
    first = first + 1
  end
  while last > first and not block.lines[last]:find('%S') do
    last = last - 1
  end
  return vim.tbl_extend('force', block, { lines = vim.list_slice(block.lines, first, last) })
end

--- Load a file, which may not exist yet, into a buffer.
---@param name string
---@return integer buf
local function load(name)
  local buf = vim.fn.bufadd(name)
  -- With `silent!`, Neovim reads the file even if it has a swap file.
  if not vim.api.nvim_buf_is_loaded(buf) then vim.cmd(('silent! call bufload(%d)'):format(buf)) end
  vim.bo[buf].buflisted = true
  return buf
end

--- Show a buffer in its window, or else in the window of the last file, or else in a new window.
---@param buf integer
local function show(buf)
  local source = chats.source()
  local win = vim.fn.bufwinid(buf)
  if win == -1 and source then win = vim.fn.bufwinid(source) end
  if win == -1 then
    vim.cmd('leftabove vertical split')
  else
    vim.api.nvim_set_current_win(win)
  end
  -- This fails if the window's buffer must not be hidden.
  if not pcall(vim.api.nvim_win_set_buf, 0, buf) then vim.cmd(('vertical sbuffer %d'):format(buf)) end
end

---@param buf integer
---@return integer row of the cursor, from 0
local function get_cursor_row(buf)
  local win = vim.fn.win_findbuf(buf)[1]
  return (win and vim.api.nvim_win_get_cursor(win)[1] or vim.fn.getbufinfo(buf)[1].lnum) - 1
end

---@param buf integer
---@return string
local function name_of(buf)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.')
  return name ~= '' and name or 'the unnamed buffer'
end

--- Return the change that a code block makes: its lines replace similar lines, or else are inserted below the cursor.
---@param buf integer
---@param lines string[]
---@return jumpseat.Change
local function compute_change(buf, lines)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if #old == 1 and old[1] == '' then return { buf = buf, row = 0, old = old, new = lines } end
  local found = place.find(lines, old)
  if found then
    local replaced = vim.list_slice(old, found.first, found.last)
    return { buf = buf, row = found.first - 1, old = replaced, new = found.lines }
  end
  local row = math.max(get_cursor_row(buf), 0)
  local line = old[row + 1]
  log.notify(('No lines of %s are similar, so the code is inserted below the cursor.'):format(name_of(buf)))
  return { buf = buf, row = row, old = { line }, new = { line, unpack(lines) } }
end

--- Whether code can be applied to a buffer now. Warns if it cannot.
---@param buf integer
---@return boolean
local function check_free(buf)
  if not vim.bo[buf].modifiable then
    log.warn(("The code cannot be applied to %s: 'modifiable' is off."):format(name_of(buf)))
  elseif edits.is_busy(buf) then
    log.warn(
      ('There is already an edit in %s. Run :Jumpseat accept or :Jumpseat reject there first.'):format(
        name_of(buf)
      )
    )
  else
    return true
  end
  return false
end

---@param change jumpseat.Change
local function open_review(change)
  local hunks = diff.compute_hunks(change.old, change.new)
  if #hunks == 0 then return log.notify(('This code is already in %s.'):format(name_of(change.buf))) end
  show(change.buf)
  local line = change.row + hunks[1].row + 1
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(change.buf)), 0 })
  review.open(change.buf, change.row, change.old, change.new, function() end)
  log.notify(
    ('The code is shown in %s: :Jumpseat accept applies it, :Jumpseat reject discards it.'):format(
      name_of(change.buf)
    )
  )
end

--- Show the changes of a diff, in each of its files.
---@param block jumpseat.CodeBlock
---@param path string the file to change; if empty, the files that the diff names
local function apply_patches(block, path)
  local patches = patch.parse(block.lines)
  if #patches == 0 then return log.warn('The diff does not change any lines.') end
  for _, each in ipairs(patches) do
    local word = path ~= '' and path or each.path
    local name = word and file.resolve(block, word)
    if word and not name then return log.warn(('%s is not the path of a file.'):format(word)) end
    local buf = name and load(name) or chats.source()
    if not buf then return log.warn('The diff names no file, and none is open beside the chat.') end
    if not check_free(buf) then return end
    local old = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
    local new, failed = patch.apply(each, old)
    if failed < #each.hunks then open_review({ buf = buf, row = 0, old = old, new = new }) end
    if failed > 0 then
      local message = '%d of the %d changes of the diff do not match %s, and are left out.'
      log.warn(message:format(failed, #each.hunks, name_of(buf)))
    end
  end
end

--- Show the code block at the cursor, or the last one, as a diff in its file.
---@param buf integer the chat
---@param path string the file; if empty, find it from the block or use the last file
function M.run(buf, path)
  local block = code.find_current(buf)
  if not block then return end
  block = trim(block)
  if not table.concat(block.lines):find('%S') then return log.warn('The code block is empty.') end
  if patch.is_patch(block) then return apply_patches(block, path) end
  local name = path ~= '' and file.resolve(block, path)
  if path ~= '' and not name then return log.warn(('%s is not the path of a file.'):format(path)) end
  local found = name and { name = name, lines = block.lines } or file.find(block)
  local target = found and load(found.name) or chats.source()
  if not target then return log.warn('No file matches this code. Run :Jumpseat apply FILE.') end
  if not check_free(target) then return end
  open_review(compute_change(target, found and found.lines or block.lines))
end

return M
