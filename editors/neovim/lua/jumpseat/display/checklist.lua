--- A window in which the user selects lines with keys.
local float = require('jumpseat.display.float')

local M = {}

---@class jumpseat.Checklist
---@field title string
---@field footer string
---@field format fun(): string[] returns the lines
---@field toggle fun(line: integer) selects or deselects a line
---@field accept? fun() called when <CR> has closed the window; by default, <CR> selects a line like <Space>

--- Open a checklist, which `q` closes.
---@param list jumpseat.Checklist
function M.open(list)
  local opened = float.open(list.format(), { title = list.title, footer = list.footer })
  local function toggle()
    list.toggle(vim.api.nvim_win_get_cursor(0)[1])
    vim.bo[opened.buf].modifiable = true
    vim.api.nvim_buf_set_lines(opened.buf, 0, -1, false, list.format())
    vim.bo[opened.buf].modifiable = false
  end
  local function accept()
    opened.close()
    list.accept()
  end
  local function map(key, run) vim.keymap.set('n', key, run, { buffer = opened.buf, nowait = true }) end
  map('<Space>', toggle)
  map('<CR>', list.accept and accept or toggle)
end

return M
