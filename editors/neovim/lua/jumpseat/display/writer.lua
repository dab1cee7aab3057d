--- Writes one growing piece of text into a buffer that the user may edit at the same time.
local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.writer')

---@class jumpseat.Writer
---@field buf integer
---@field private first integer the mark at the start of the piece
---@field private last integer the mark at the end of the piece; text that is typed there stays after the mark
---@field private tick integer? `changedtick` after the last write
---@field private chunks string[] the texts written so far
---@field lost boolean whether writing must stop, for example because the user has deleted the piece
---@field private is_shared boolean whether something else has changed the buffer since the first write
local Writer = {}
Writer.__index = Writer

---@param buf integer
---@param row integer from 0
---@param col integer in bytes
---@return jumpseat.Writer
function M.new(buf, row, col)
  local left = { right_gravity = false }
  return setmetatable({
    buf = buf,
    first = vim.api.nvim_buf_set_extmark(buf, namespace, row, col, left),
    last = vim.api.nvim_buf_set_extmark(buf, namespace, row, col, left),
    chunks = {},
    lost = false,
    is_shared = false,
  }, Writer)
end

---@private
---@param mark integer
---@return integer row, integer col
function Writer:_position(mark)
  local at = vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, mark, {})
  local count = vim.api.nvim_buf_line_count(self.buf)
  if at[1] < count then return at[1], at[2] end
  -- Undo has removed the last lines of the buffer, and left the mark below the line that is now the last.
  return count - 1, #vim.api.nvim_buf_get_lines(self.buf, count - 1, count, false)[1]
end

---@return integer row from 0
function Writer:first_row() return (self:_position(self.first)) end

---@return integer row from 0
function Writer:last_row() return (self:_position(self.last)) end

--- Whether more can be written to the piece. This is false if the user has deleted the piece, or has undone a part of it:
--- after another write, the user could no longer redo that part.
---@return boolean
function Writer:is_valid()
  if self.lost or not vim.api.nvim_buf_is_loaded(self.buf) then return false end
  if #self.chunks > 0 and self.tick ~= vim.api.nvim_buf_get_changedtick(self.buf) then
    local row, col = self:_position(self.first)
    local last_row, last_col = self:_position(self.last)
    self.lost = (row == last_row and col == last_col) or (self:_is_undone() and not self:_is_untouched())
  end
  return not self.lost
end

--- Whether only this writer has changed the buffer since the first write.
---@return boolean
function Writer:is_alone()
  return not self.is_shared and self.tick == vim.api.nvim_buf_get_changedtick(self.buf)
end

---@private
---@return boolean
function Writer:_is_undone()
  local tree = vim.api.nvim_buf_call(self.buf, vim.fn.undotree)
  return tree.seq_cur < tree.seq_last
end

--- Change the buffer in the same undo step as the earlier writes. If something else has changed the buffer since the last
--- write, start a new undo step: `:undojoin` would also join the user's change, and it fails after an undo. The change is
--- made even if 'modifiable' is off.
---@param change fun()
function Writer:edit(change)
  local options = vim.bo[self.buf]
  local is_locked = not options.modifiable
  vim.api.nvim_buf_call(self.buf, function()
    if self.tick == vim.b.changedtick then pcall(vim.cmd.undojoin) end
    if self.tick and self.tick ~= vim.b.changedtick then self.is_shared = true end
    if is_locked then options.modifiable = true end
    change()
    if is_locked then options.modifiable = false end
    self.tick = vim.b.changedtick
  end)
end

--- Return the windows that show the buffer, each with the position that its cursor gets when lines are inserted at the end
--- of the piece. `end` stands for the end of the buffer.
---@private
---@param lines string[]
---@return table<integer, [integer, integer]|'end'>
function Writer:_plan_cursors(lines)
  local row, col = self:_position(self.last)
  local count = vim.api.nvim_buf_line_count(self.buf)
  local inserting = vim.api.nvim_get_mode().mode:find('^[iR]') ~= nil
  local cursors = {}
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local line, column = unpack(vim.api.nvim_win_get_cursor(win))
    local is_typing = inserting and win == vim.api.nvim_get_current_win()
    if line == count and not is_typing then
      cursors[win] = 'end'
    elseif line - 1 == row and column >= col and is_typing then
      local offset = #lines > 1 and #lines[#lines] or col + #lines[1]
      cursors[win] = { line + #lines - 1, column - col + offset }
    elseif line - 1 > row then
      cursors[win] = { line + #lines - 1, column }
    else
      cursors[win] = { line, column }
    end
  end
  return cursors
end

--- Add text at the end of the piece. A window's cursor follows the text only if the cursor was on the buffer's last line.
--- If the user is typing after the piece, the cursor moves with the typed text.
---@param text string
function Writer:append(text)
  -- A carriage return would be visible, and would be saved in the file.
  text = text:gsub('\r', '')
  if text == '' then return end
  local lines = vim.split(text, '\n', { plain = true })
  local cursors = self:_plan_cursors(lines)
  local row, col = self:_position(self.last)
  local adds_only_lines = #lines > 1
    and lines[1] == ''
    and col == #vim.api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1]
  self:edit(function()
    if adds_only_lines then
      -- Leave the line above unchanged: if it is the last line of a fold, a change would take it out of the fold.
      vim.api.nvim_buf_set_lines(self.buf, row + 1, row + 1, false, vim.list_slice(lines, 2))
    else
      vim.api.nvim_buf_set_text(self.buf, row, col, row, col, lines)
    end
  end)
  table.insert(self.chunks, text)
  local end_col = #lines[#lines] + (#lines == 1 and col or 0)
  vim.api.nvim_buf_set_extmark(
    self.buf,
    namespace,
    row + #lines - 1,
    end_col,
    { id = self.last, right_gravity = false }
  )
  self:_move_cursors(cursors)
end

---@private
---@param cursors table<integer, [integer, integer]|'end'>
function Writer:_move_cursors(cursors)
  local count = vim.api.nvim_buf_line_count(self.buf)
  for win, at in pairs(cursors) do
    if at == 'end' then
      local line = vim.api.nvim_buf_get_lines(self.buf, count - 1, count, false)[1]
      at = { count, #line }
    end
    vim.api.nvim_win_set_cursor(win, { math.min(at[1], count), at[2] })
  end
end

--- Whether the user has not changed the piece.
---@private
---@return boolean
function Writer:_is_untouched()
  local row, col = self:_position(self.first)
  local last_row, last_col = self:_position(self.last)
  local now = vim.api.nvim_buf_get_text(self.buf, row, col, last_row, last_col, {})
  return table.concat(now, '\n') == table.concat(self.chunks)
end

--- Replace the piece with this text, changing only the lines from the first difference on. Return false, without a change, if
--- the user has edited the piece.
---@param text string
---@return boolean done
function Writer:replace(text)
  if not self:_is_untouched() then return false end
  text = text:gsub('\r', '')
  local old = vim.split(table.concat(self.chunks), '\n', { plain = true })
  local new = vim.split(text, '\n', { plain = true })
  if table.concat(self.chunks) == text then return true end
  local row, col = self:_position(self.first)
  local same = 0
  while same < math.min(#old, #new) and old[same + 1] == new[same + 1] do
    same = same + 1
  end
  -- Replace at least the last line, so that the start of the replaced text is a position in the buffer.
  same = math.max(0, math.min(same, #old - 1, #new - 1))
  local last_row, last_col = self:_position(self.last)
  local start_row, start_col = row + same, same == 0 and col or 0
  local lines = vim.list_slice(new, same + 1)
  local cursors = {}
  for win, at in pairs(self:_plan_cursors({ '' })) do
    if at == 'end' then cursors[win] = at end
  end
  self:edit(
    function() vim.api.nvim_buf_set_text(self.buf, start_row, start_col, last_row, last_col, lines) end
  )
  local end_col = #lines[#lines] + (#lines == 1 and start_col or 0)
  local options = { id = self.last, right_gravity = false }
  vim.api.nvim_buf_set_extmark(self.buf, namespace, start_row + #lines - 1, end_col, options)
  self.chunks = { text }
  self:_move_cursors(cursors)
  return true
end

--- Stop writing. The text stays.
function Writer:close()
  if not vim.api.nvim_buf_is_loaded(self.buf) then return end
  vim.api.nvim_buf_del_extmark(self.buf, namespace, self.first)
  vim.api.nvim_buf_del_extmark(self.buf, namespace, self.last)
end

return M
