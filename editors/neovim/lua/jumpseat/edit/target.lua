--- Tracks the text that an edit rewrites, even if its buffer changes, and computes the lines that result from the edit.
local region = require('jumpseat.core.region')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.edit')

--- The destination of the new text: in place of the region, above its first line, below its last line, or a new buffer.
---@alias jumpseat.EditMode 'replace'|'before'|'after'|'new'

---@class jumpseat.Target
---@field region jumpseat.Region the region when it was sent
---@field mode jumpseat.EditMode
---@field sent string the region's text when it was sent
---@field lines string[] the lines that the region touched when it was sent
---@field marks integer[] one extmark for the region, or one for each line of a blockwise region

---@param old jumpseat.Region
---@return integer[]
local function mark_region(old)
  local first, last = old.spans[1], old.spans[#old.spans]
  local spans = { { first.row, first.first, last.row, last.last } }
  if old.kind == 'block' then
    spans = vim.tbl_map(function(span) return { span.row, span.first, span.row, span.last } end, old.spans)
  end
  return vim.tbl_map(function(span)
    -- Text typed at either edge of the region is not part of it.
    local empty = span[1] == span[3] and span[2] == span[4]
    return vim.api.nvim_buf_set_extmark(old.buf, namespace, span[1], span[2], {
      end_row = span[3],
      end_col = span[4],
      right_gravity = not empty,
      end_right_gravity = false,
    })
  end, spans)
end

---@param buf integer
---@param row integer
---@return string
local function get_line(buf, row) return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or '' end

--- Return the region at its current position.
---@param target jumpseat.Target
---@return jumpseat.Region
function M.locate(target)
  local buf, spans = target.region.buf, {}
  for _, id in ipairs(target.marks) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, id, { details = true })
    local row, col, last_row, last_col = at[1], at[2], at[3].end_row or at[1], at[3].end_col or at[2]
    for each = row, last_row do
      local line = get_line(buf, each)
      table.insert(spans, {
        row = each,
        first = each == row and col or 0,
        last = each == last_row and last_col or #line,
      })
    end
  end
  return { buf = buf, kind = target.region.kind, spans = spans }
end

--- Return an empty region, which stands for a place in a buffer.
---@param buf integer
---@param row integer
---@param col integer
---@return jumpseat.Region
local function make_place(buf, row, col)
  return { buf = buf, kind = 'char', spans = { { row = row, first = col, last = col } } }
end

--- Create a target, and mark its text in the buffer.
---@param selected jumpseat.Region
---@param mode jumpseat.EditMode
---@return jumpseat.Target
function M.new(selected, mode)
  local buf, old = selected.buf, selected
  if mode == 'before' then
    old = make_place(buf, selected.spans[1].row, 0)
  elseif mode == 'after' then
    local row = selected.spans[#selected.spans].row
    old = make_place(buf, row, #get_line(buf, row))
  elseif mode == 'new' then
    old = make_place(buf, 0, 0)
  end
  local first, last = old.spans[1].row, old.spans[#old.spans].row
  return {
    region = old,
    mode = mode,
    sent = region.text(old),
    lines = vim.api.nvim_buf_get_lines(buf, first, last + 1, false),
    marks = mark_region(old),
  }
end

---@param target jumpseat.Target
function M.remove(target)
  for _, id in ipairs(target.marks) do
    vim.api.nvim_buf_del_extmark(target.region.buf, namespace, id)
  end
end

--- Return the first and the last row of the text.
---@param target jumpseat.Target
---@return integer first
---@return integer last
function M.rows(target)
  local spans = M.locate(target).spans
  return spans[1].row, spans[#spans].row
end

---@param target jumpseat.Target
---@return boolean
function M.is_unchanged(target)
  local now = M.locate(target)
  local first, last = now.spans[1], now.spans[#now.spans]
  return last.row - first.row + 1 == #now.spans and region.text(now) == target.sent
end

--- Return the lines that the region touches, as they are now. If the region's text has changed since it was sent, return
--- these lines as they were then.
---@param target jumpseat.Target
---@return string[]
function M.current_lines(target)
  if not M.is_unchanged(target) then return target.lines end
  local first, last = M.rows(target)
  return vim.api.nvim_buf_get_lines(target.region.buf, first, last + 1, false)
end

--- Split a text into whole lines. A final line ending does not begin another line.
---@param text string
---@return string[]
local function split_lines(text)
  if text == '' then return {} end
  return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
end

--- Return the lines that result if this text replaces the region, or nil if a blockwise region does not have as many
--- lines as the text.
---@param target jumpseat.Target
---@param text string
---@param lines string[] the lines that the region touches
---@return string[]?
function M.compute_lines(target, text, lines)
  -- Buffers do not contain line endings, so a carriage return would become text. Keep carriage returns only if the
  -- old text has some.
  if not target.sent:find('\r', 1, true) then text = text:gsub('\r', '') end
  if target.mode == 'before' then return vim.list_extend(split_lines(text), lines) end
  if target.mode == 'after' then return vim.list_extend(vim.list_slice(lines), split_lines(text)) end
  if target.mode == 'new' or target.region.kind == 'line' then return split_lines(text) end
  local new = vim.split(text, '\n', { plain = true })
  local now = M.is_unchanged(target) and M.locate(target) or target.region
  local first, last = now.spans[1], now.spans[#now.spans]
  if now.kind == 'block' then
    if #new ~= #now.spans then return nil end
    for number, span in ipairs(now.spans) do
      local line = lines[number]
      new[number] = line:sub(1, span.first) .. new[number] .. line:sub(span.last + 1)
    end
    return new
  end
  new[1] = lines[1]:sub(1, first.first) .. new[1]
  new[#new] = new[#new] .. lines[#lines]:sub(last.last + 1)
  return new
end

--- Return the first row, the old lines and the new lines of a preview of an unfinished text.
---@param target jumpseat.Target
---@param text string complete lines
---@return integer row
---@return string[] old
---@return string[] new
function M.preview(target, text)
  local row = M.rows(target)
  if target.mode == 'before' then return row, {}, split_lines(text) end
  if target.mode == 'after' then return row + 1, {}, split_lines(text) end
  local lines = M.current_lines(target)
  -- The space stands for the incomplete line, which is removed below.
  local new = M.compute_lines(target, text .. ' ', lines) or {}
  table.remove(new)
  return row, vim.list_slice(lines, 1, math.min(#new, #lines)), new
end

return M
