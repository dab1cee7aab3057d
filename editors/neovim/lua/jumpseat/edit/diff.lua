--- Shows changes to the lines of a buffer, and applies them.
local compare = require('jumpseat.core.diff')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.diff')

---@class jumpseat.Hunk
---@field row integer the row of the first old line, or of the line below an insertion, counted from the text's first row
---@field removed integer the number of old lines
---@field new_start integer the line at which the hunk's new lines start in the new text, from 1; for a removal, the line below
---@field lines string[] the hunk's new lines

---@param lines string[]
---@return string
local function join(lines) return #lines > 0 and table.concat(lines, '\n') .. '\n' or '' end

---@param old string[]
---@param new string[]
---@return jumpseat.Hunk[]
function M.compute_hunks(old, new)
  local changes = compare(join(old), join(new), { result_type = 'indices' }) --[[@as integer[][] ]]
  return vim.tbl_map(function(change)
    local first, removed, added_first, added = unpack(change)
    return {
      -- For an insertion, `first` is the old line above it; for a removal, `added_first` is the new line above it.
      row = removed > 0 and first - 1 or first,
      removed = removed,
      new_start = added > 0 and added_first or added_first + 1,
      lines = vim.list_slice(new, added_first, added_first + added - 1),
    }
  end, changes)
end

---@param buf integer
function M.clear(buf) vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1) end

--- Make virtual lines above the first line visible in the windows that are scrolled to the top.
---@param buf integer
---@param number integer the number of virtual lines
local function reveal(buf, number)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function()
      if vim.fn.line('w0') ~= 1 then return end
      vim.fn.winrestview({ topline = 1, topfill = math.min(number, vim.api.nvim_win_get_height(win) - 1) })
    end)
  end
end

--- Convert lines to virtual lines. They are wrapped here, because Neovim does not wrap virtual lines.
---@param buf integer
---@param lines string[]
---@return table[]
local function to_virtual_lines(buf, lines)
  local width, result = view.width_of(buf), {}
  for _, line in ipairs(lines) do
    for _, piece in ipairs(view.split(line == '' and ' ' or line, width)) do
      table.insert(result, { { piece, 'JumpseatDiffAdd' } })
    end
  end
  return result
end

--- Return the row of the buffer at which a hunk is shown: its last old row, or for an insertion the row above its new lines.
---@param row integer the row of the first old line of the text
---@param hunk jumpseat.Hunk
---@return integer
function M.last_row(row, hunk) return math.max(row + hunk.row + hunk.removed - 1, 0) end

--- Show changes: highlight the removed lines, and show the new ones below them.
---@param buf integer
---@param row integer the row of the first old line, counted from 0
---@param old string[]
---@param new string[]
function M.show(buf, row, old, new)
  M.clear(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  for _, hunk in ipairs(M.compute_hunks(old, new)) do
    local first = row + hunk.row
    if hunk.removed > 0 then
      vim.api.nvim_buf_set_extmark(buf, namespace, first, 0, {
        end_row = math.min(first + hunk.removed, count),
        hl_group = 'JumpseatDiffDelete',
        hl_eol = true,
        strict = false,
      })
    end
    if #hunk.lines > 0 then
      local lines = to_virtual_lines(buf, hunk.lines)
      local is_above = first + hunk.removed == 0
      vim.api.nvim_buf_set_extmark(buf, namespace, M.last_row(row, hunk), 0, {
        virt_lines = lines,
        virt_lines_above = is_above,
      })
      if is_above then reveal(buf, #lines) end
    end
  end
end

--- Change only the lines that differ, in one undo step, so that marks in other lines stay in place.
---@param buf integer
---@param row integer the row of the first old line, counted from 0
---@param hunks jumpseat.Hunk[]
function M.apply(buf, row, hunks)
  -- Start with the last change, so that the line numbers of the others stay valid.
  for index = #hunks, 1, -1 do
    local hunk = hunks[index]
    local start = row + hunk.row
    vim.api.nvim_buf_set_lines(buf, start, start + hunk.removed, false, hunk.lines)
  end
end

return M
