--- What is shown of a chat beside its text: the window bar, marks at headings, and folds.
local wire = require('jumpseat.wire')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.view')
local THINKING = '<details><summary>Thinking</summary>'
local WIDTH = 76

--- What the states are called.
local LABELS = {
  preparing = 'sending',
  waiting = 'waiting',
  thinking = 'thinking',
  streaming = 'answering',
  retrying = 'waiting to try again',
  stopping = 'stopping',
}

---@class jumpseat.Status
---@field state? string a key of LABELS; nil while nothing runs
---@field detail? string shown in place of the label
---@field model? string
---@field usage? table
---@field quota? string

---@type table<integer, jumpseat.Status>
local statuses = {}

---@param usage table?
---@return string?
local function tokens(usage)
  if not usage then return nil end
  local cost = usage.cost and (' · %.4f %s'):format(usage.cost.amount, usage.cost.currency) or ''
  return ('%d → %d tokens%s'):format(usage.inputTokens, usage.outputTokens, cost)
end

---@param text string
---@return string
local function escaped(text) return (text:gsub('%%', '%%%%')) end

--- The text of the window bar, of the window that is drawn.
---@return string
function M.winbar()
  local buf = vim.api.nvim_win_get_buf(vim.g.statusline_winid or 0)
  local status = statuses[buf]
  if not status then return '' end
  local parts = { status.model or 'default model' }
  vim.list_extend(parts, { status.detail or LABELS[status.state] })
  vim.list_extend(parts, { tokens(status.usage) })
  vim.list_extend(parts, { status.quota })
  local hint = status.state and ':JumpseatStop' or ':JumpseatSend'
  return ' ' .. escaped(table.concat(parts, ' · ')) .. '%=%#Comment#' .. hint .. ' '
end

--- Change what is shown of a chat.
---@param buf integer
---@param changes table<string, any> `vim.NIL` removes a value
function M.update(buf, changes)
  local status = statuses[buf] or {}
  for key, value in pairs(changes) do
    status[key] = value ~= vim.NIL and value or nil
  end
  statuses[buf] = status
  -- `:redrawstatus!` would draw the bars of all windows for each frame of an answer.
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    pcall(vim.api.nvim__redraw, { win = win, winbar = true })
  end
end

---@param buf integer
---@return jumpseat.Status
function M.status(buf) return statuses[buf] or {} end

--- Show or replace a text behind the heading of an answer.
---@param buf integer
---@param row integer from 0
---@param text string
---@param id integer? the mark that is replaced
---@return integer id
function M.heading(buf, row, text, id)
  local options = { id = id, virt_text = { { text, 'Comment' } }, hl_mode = 'combine', undo_restore = false }
  return vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options)
end

--- What a heading shows after the turn.
---@param model string?
---@param usage table?
---@return string
function M.summary(model, usage)
  return table.concat(vim.list_extend({ model or '' }, { tokens(usage) }), ' · ')
end

---@param text string
---@return string[]
local function wrapped(text)
  local lines, line = {}, ''
  for word in text:gmatch('%S+') do
    if line ~= '' and #line + #word >= WIDTH then
      table.insert(lines, line)
      line = word
    else
      line = line == '' and word or line .. ' ' .. word
    end
  end
  table.insert(lines, line)
  return lines
end

--- Show a message below a line, until the next turn.
---@param buf integer
---@param row integer from 0
---@param text string
---@param highlight string
function M.below(buf, row, text, highlight)
  local lines = vim.tbl_map(function(line) return { { line, highlight } } end, wrapped(text))
  vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = lines, undo_restore = false })
end

---@param buf integer
---@param row integer
---@param err jumpseat.Error
function M.error(buf, row, err) M.below(buf, row, '✗ ' .. wire.sentence(err), 'DiagnosticError') end

--- Remove messages below lines; the texts behind headings stay.
---@param buf integer
function M.clear_messages(buf)
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
    if mark[4].virt_lines then vim.api.nvim_buf_del_extmark(buf, namespace, mark[1]) end
  end
end

--- Fold lines in every window that shows the buffer.
---@param buf integer
---@param first integer from 0
---@param last integer from 0, inclusive
function M.fold(buf, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function() pcall(vim.cmd, ('%d,%dfold'):format(first + 1, last + 1)) end)
  end
end

---@return string
function M.foldtext() return ('▸ Thinking (%d lines)'):format(vim.v.foldend - vim.v.foldstart + 1) end

--- Options of a window that shows a chat. Folds are manual: `foldexpr` would run for each piece of an answer.
---@param win integer
---@param buf integer
---@param again? boolean fold again, because the text is new
function M.window(win, buf, again)
  local options = vim.wo[win][0]
  options.winbar = "%{%v:lua.require'jumpseat.view'.winbar()%}"
  options.wrap, options.linebreak = true, true
  options.foldmethod, options.foldenable, options.foldlevel = 'manual', true, 0
  options.foldtext = "v:lua.require'jumpseat.view'.foldtext()"
  if vim.w[win].jumpseat_folded == buf and not again then return end
  vim.w[win].jumpseat_folded = buf
  local first
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if line == THINKING then
      first = row
    elseif line == '</details>' and first then
      vim.api.nvim_win_call(win, function() vim.cmd(('%d,%dfold'):format(first, row)) end)
      first = nil
    end
  end
end

---@param buf integer
function M.forget(buf) statuses[buf] = nil end

return M
