--- Previews changes to the lines of a buffer, and applies them.
local compare = require('jumpseat.core.diff')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.diff')

---@param lines string[]
---@return string
local function join(lines) return #lines > 0 and table.concat(lines, '\n') .. '\n' or '' end

---@param old string[]
---@param new string[]
---@return integer[][] hunks first line and number of lines in the old text, then the same for the new text
local function compute_hunks(old, new)
  return compare(join(old), join(new), { result_type = 'indices' }) --[[@as integer[][] ]]
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

--- Preview changes: highlight the removed lines, and show the new ones below them.
---@param buf integer
---@param row integer the row of the first old line, counted from 0
---@param old string[]
---@param new string[]
function M.show(buf, row, old, new)
  M.clear(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  for _, hunk in ipairs(compute_hunks(old, new)) do
    local first, removed, added_first, added = unpack(hunk)
    if removed > 0 then
      vim.api.nvim_buf_set_extmark(buf, namespace, row + first - 1, 0, {
        end_row = math.min(row + first - 1 + removed, count),
        hl_group = 'JumpseatDiffDelete',
        hl_eol = true,
        strict = false,
      })
    end
    local lines = to_virtual_lines(buf, vim.list_slice(new, added_first, added_first + added - 1))
    if added > 0 then
      local at = row + first - 1 + math.max(removed - 1, 0)
      vim.api.nvim_buf_set_extmark(buf, namespace, math.max(at, 0), 0, {
        virt_lines = lines,
        virt_lines_above = at < row,
      })
      if at < 0 then reveal(buf, #lines) end
    end
  end
end

--- Change only the lines that differ, in one undo step, so that marks in other lines stay in place.
---@param buf integer
---@param row integer the row of the first old line, counted from 0
---@param old string[]
---@param new string[]
function M.apply(buf, row, old, new)
  local changes = compute_hunks(old, new)
  -- Start with the last change, so that the line numbers of the others stay valid.
  for index = #changes, 1, -1 do
    local first, removed, added_first, added = unpack(changes[index])
    -- For an insertion, `first` is the line before the new lines.
    local start = row + (removed > 0 and first - 1 or first)
    local lines = vim.list_slice(new, added_first, added_first + added - 1)
    vim.api.nvim_buf_set_lines(buf, start, start + removed, false, lines)
  end
end

return M
