--- Regions of buffers: selected lines, characters or blocks, and their positions in the protocol's units.
local M = {}

---@class jumpseat.Region
---@field buf integer
---@field kind 'line'|'char'|'block'
---@field spans { row: integer, first: integer, last: integer }[] rows from 0, columns in bytes, `last` exclusive

---@param buf integer
---@param row integer from 0
---@return string
local function get_line(buf, row) return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or '' end

--- Return a region of whole lines.
---@param buf integer
---@param first integer from 1
---@param last integer from 1, inclusive
---@return jumpseat.Region
function M.lines(buf, first, last)
  local spans = {}
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buf, first - 1, last, false)) do
    table.insert(spans, { row = first + number - 2, first = 0, last = #line })
  end
  return { buf = buf, kind = 'line', spans = spans }
end

--- The largest text that is sent. Few models can read more, and Neovim would block for seconds.
local LARGEST_BYTES = 1000 * 1000

--- Return why a text is too large to send, or nil if it is not.
---@param name string
---@param bytes integer
---@return string?
function M.check_size(name, bytes)
  if bytes <= LARGEST_BYTES then return end
  return ('%s is %.1f MB, and the limit is 1 MB. Select a part of it.'):format(name, bytes / LARGEST_BYTES)
end

--- Return the size of a buffer in bytes, without reading its text.
---@param buf integer
---@return integer
function M.size_of_buffer(buf) return vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) end

--- Return the number of the last line that is not blank, at or above this line. Return 0 if all of these lines are blank.
---@param buf integer
---@param line integer from 1
---@return integer
function M.find_last_line(buf, line)
  return vim.api.nvim_buf_call(buf, function() return vim.fn.prevnonblank(line) end)
end

---@param region jumpseat.Region
---@return integer bytes
function M.size(region)
  return vim.iter(region.spans):fold(0, function(sum, span) return sum + span.last - span.first + 1 end)
end

---@param buf integer
---@return jumpseat.Region
function M.whole(buf) return M.lines(buf, 1, vim.api.nvim_buf_line_count(buf)) end

local KINDS = { v = 'char', V = 'line', ['\22'] = 'block' }

--- Return the last selection of a buffer, or nil. In Neovim 0.10, which cannot report the positions in a selection, return
--- the whole lines of the selection.
---@param buf integer
---@return jumpseat.Region?
function M.last_selection(buf)
  return vim.api.nvim_buf_call(buf, function()
    local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
    if first[2] == 0 or last[2] == 0 then return end
    local type = vim.fn.visualmode()
    local kind = KINDS[type] or 'line'
    if kind == 'line' or vim.fn.exists('*getregionpos') == 0 then return M.lines(buf, first[2], last[2]) end
    local spans = {}
    for _, pair in ipairs(vim.fn.getregionpos(first, last, { type = type, eol = false })) do
      local row = pair[1][2] - 1
      local line = get_line(buf, row)
      local start, finish = pair[1][3], pair[2][3]
      -- A line that the block does not reach has no columns. Its span is empty, at the end of the line.
      local empty = start == 0 or finish == 0 or start > #line
      local from, to = #line, #line
      if not empty then
        -- An edge of a block may cut through a wide character, whose bytes must stay together.
        from = start - 1 + vim.str_utf_start(line, start)
        to = finish < #line and finish + vim.str_utf_end(line, finish) or #line
      end
      table.insert(spans, { row = row, first = from, last = to })
    end
    return { buf = buf, kind = kind, spans = spans }
  end)
end

--- Return the region of a command's range: the last selection if the range matches it, or else whole lines.
---@param buf integer
---@param command { range: integer, line1: integer, line2: integer }
---@return jumpseat.Region?
function M.from_command(buf, command)
  if command.range == 0 then return end
  local first, last = vim.fn.line("'<"), vim.fn.line("'>")
  if command.range == 2 and first == command.line1 and last == command.line2 then
    return M.last_selection(buf)
  end
  return M.lines(buf, command.line1, command.line2)
end

--- Return the text of a region. Whole lines include their line endings.
---@param region jumpseat.Region
---@return string
function M.text(region)
  local parts = {}
  for _, span in ipairs(region.spans) do
    table.insert(parts, get_line(region.buf, span.row):sub(span.first + 1, span.last))
  end
  return table.concat(parts, '\n') .. (region.kind == 'line' and '\n' or '')
end

---@param buf integer
---@return string?
function M.uri(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= '' and vim.uri_from_fname(name) or nil
end

---@param buf integer
---@param row integer
---@param col integer in bytes
---@return { line: integer, character: integer }
local function position(buf, row, col)
  local line = get_line(buf, row)
  local units
  if vim.fn.has('nvim-0.11') == 1 then
    units = vim.str_utfindex(line, 'utf-16', math.min(col, #line), false)
  else
    units = select(2, vim.str_utfindex(line, math.min(col, #line)))
  end
  return { line = row, character = units }
end

--- Convert a column of the protocol to bytes.
---@param line string
---@param character integer in UTF-16 code units
---@return integer
function M.column(line, character)
  if vim.fn.has('nvim-0.11') == 1 then return vim.str_byteindex(line, 'utf-16', character, false) end
  local fits, col = pcall(vim.str_byteindex, line, character, true)
  return fits and col or #line
end

--- Return a region as a context block. For a blockwise selection, the range extends from its first to its last corner.
---@param region jumpseat.Region
---@return table
function M.block(region)
  local first, last = region.spans[1], region.spans[#region.spans]
  local finish = region.kind == 'line' and { line = last.row + 1, character = 0 }
    or position(region.buf, last.row, last.last)
  local filetype = vim.bo[region.buf].filetype
  return {
    type = 'context',
    text = M.text(region),
    uri = M.uri(region.buf),
    languageId = filetype ~= '' and filetype or nil,
    range = { start = position(region.buf, first.row, first.first), ['end'] = finish },
  }
end

return M
