--- Displays a chat's state around its text: the window bar, labels at headings, messages and folds.
local folds = require('jumpseat.display.folds')
local wire = require('jumpseat.core.wire')

require('jumpseat.core.highlights')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.view')
--- The largest width of a message, in cells.
local WIDTH = 76
local WINBAR = "%{%v:lua.require'jumpseat.display.view'.winbar()%}"
--- The number of bytes assumed for the longest character with its combining characters.
local LONGEST_CHARACTER = 8

--- The labels of the states.
local LABELS = {
  starting = 'starting jumpseat',
  preparing = 'sending',
  waiting = 'waiting',
  thinking = 'thinking',
  streaming = 'answering',
  retrying = 'waiting to retry',
  stopping = 'stopping',
  calling = 'running a tool',
  approving = 'waiting for your approval',
}

--- The commands that the window bar names in some states instead of `:Jumpseat stop`.
local HINTS = { approving = ':Jumpseat approve' }

---@class jumpseat.Status
---@field state? string a key of LABELS; nil if nothing is running
---@field detail? string shown instead of the label
---@field model? string
---@field usage? table
---@field quota? string
---@field tokens? { tokens: integer, method: string } what the next question would send, and how that was counted

---@type table<integer, jumpseat.Status>
local statuses = {}

---@param usage table?
---@return string?
local function format_usage(usage)
  if not usage then return nil end
  local cost = usage.cost and (' · %.4f %s'):format(usage.cost.amount, usage.cost.currency) or ''
  return ('%d → %d tokens%s'):format(usage.inputTokens, usage.outputTokens, cost)
end

---@param text string
---@return string
local function escape(text) return (text:gsub('%%', '%%%%')) end

--- Return the window bar's text for the window that is being drawn.
---@return string
function M.winbar()
  local buf = vim.api.nvim_win_get_buf(vim.g.statusline_winid or 0)
  local status = statuses[buf]
  if not status then return '' end
  local parts = { status.model or 'default model' }
  vim.list_extend(parts, { status.detail or M.label(buf) })
  vim.list_extend(parts, { format_usage(status.usage) })
  vim.list_extend(parts, { status.quota })
  if status.tokens and not status.state then
    local about = status.tokens.method == 'estimate' and 'about ' or ''
    table.insert(parts, ('%s%d tokens to send'):format(about, status.tokens.tokens))
  end
  local left = ' ' .. table.concat(parts, ' · ')
  local hint = ('  %s '):format(HINTS[status.state] or status.state and ':Jumpseat stop' or ':Jumpseat send')
  local width = vim.api.nvim_win_get_width(vim.g.statusline_winid or 0)
  local fits = vim.fn.strdisplaywidth(left .. hint) <= width
  return escape(left) .. '%<' .. (fits and '%=%#JumpseatLabel#' .. hint or '')
end

--- Return the changes that a delta makes to the displayed state, in the form that `update` takes.
---@param delta table
---@return table<string, any>
function M.changes(delta)
  local type = delta.type
  if type == 'start' then
    return { state = 'waiting', model = delta.provider .. ':' .. delta.model, detail = vim.NIL }
  elseif type == 'retry' then
    local seconds = delta.delayMs / 1000
    local attempt = ('attempt %d of %d in %.1f s'):format(delta.attempt, delta.maxAttempts, seconds)
    return { state = 'retrying', detail = attempt .. ': ' .. delta.error.message }
  elseif type == 'thinking_start' then
    return { state = 'thinking', detail = vim.NIL }
  elseif type == 'text_start' then
    return { state = 'streaming', detail = vim.NIL }
  elseif type == 'tool_approval' then
    return { state = 'approving', detail = vim.NIL }
  elseif type == 'tool_status' then
    return { state = delta.status == 'running' and 'calling' or 'waiting', detail = vim.NIL }
  elseif type == 'progress' then
    return { detail = delta.text or vim.NIL }
  elseif type == 'usage' then
    return { usage = delta.usage }
  end
  return {}
end

--- Make Neovim draw the window bars of a chat again at its next update of the screen. `:redrawstatus` would draw them, and
--- the text of the chat, immediately after each change.
---@param buf integer
local function redraw_bars(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[win].winbar == WINBAR then vim.wo[win][0].winbar = WINBAR end
  end
end

--- Change the displayed state of a chat.
---@param buf integer
---@param changes table<string, any> `vim.NIL` removes a value
function M.update(buf, changes)
  local status, is_changed = statuses[buf] or {}, statuses[buf] == nil
  for key, value in pairs(changes) do
    local new = value ~= vim.NIL and value or nil
    if not vim.deep_equal(status[key], new) then
      status[key], is_changed = new, true
    end
  end
  statuses[buf] = status
  if is_changed then redraw_bars(buf) end
end

--- Return the label of a chat's state, or nil if nothing is running.
---@param buf integer
---@return string?
function M.label(buf) return LABELS[M.status(buf).state] end

---@param buf integer
---@return jumpseat.Status
function M.status(buf) return statuses[buf] or {} end

---@type table<integer, table<integer, string>> by buffer and mark: the heading lines that have a label
local headings = {}

--- Show a label at the end of a line, such as the heading of an answer. With `id`, replace that label.
---@param buf integer
---@param row integer from 0
---@param text string
---@param id integer? the mark of the label to replace
---@return integer id
function M.show_label(buf, row, text, id)
  local options =
    { id = id, virt_text = { { text, 'JumpseatLabel' } }, hl_mode = 'combine', undo_restore = false }
  id = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options)
  headings[buf] = headings[buf] or {}
  headings[buf][id] = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
  return id
end

--- Remove the label of a heading.
---@param buf integer
---@param id integer
function M.remove_label(buf, id)
  vim.api.nvim_buf_del_extmark(buf, namespace, id)
  if headings[buf] then headings[buf][id] = nil end
end

-- Remove the label of a heading that is gone: undo and redo can remove a heading and leave its mark on another line.
vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
  group = vim.api.nvim_create_augroup('jumpseat.headings', {}),
  callback = function(event)
    for id, line in pairs(headings[event.buf] or {}) do
      local row = vim.api.nvim_buf_get_extmark_by_id(event.buf, namespace, id, {})[1]
      if not row or vim.api.nvim_buf_get_lines(event.buf, row, row + 1, false)[1] ~= line then
        M.remove_label(event.buf, id)
      end
    end
  end,
})

--- Return the label that the heading of an answer gets after the turn.
---@param model string?
---@param usage table?
---@return string
function M.summary(model, usage)
  return table.concat(vim.list_extend({ model or '' }, { format_usage(usage) }), ' · ')
end

--- Split a text into pieces of at most this width.
---@param text string
---@param width integer in cells
---@return string[]
function M.split(text, width)
  local pieces, at = {}, 1
  repeat
    -- Measuring the whole rest for each piece would take quadratic time.
    local last = at + LONGEST_CHARACTER * width
    if last < #text then last = last + vim.str_utf_end(text, last) end
    local head = text:sub(at, last)
    if vim.fn.strdisplaywidth(head) > width then head = vim.fn.strcharpart(head, 0, width) end
    while vim.fn.strdisplaywidth(head) > width and vim.fn.strcharlen(head) > 1 do
      head = vim.fn.strcharpart(head, 0, vim.fn.strcharlen(head) - 1)
    end
    table.insert(pieces, head)
    at = at + #head
  until at > #text
  return pieces
end

--- Wrap a text at this width. A longer word is broken.
---@param text string
---@param width integer
---@return string[]
local function wrap(text, width)
  local lines, line = {}, ''
  for word in text:gmatch('%S+') do
    local longer = line == '' and word or line .. ' ' .. word
    if vim.fn.strdisplaywidth(longer) > width and line ~= '' then
      table.insert(lines, line)
      longer = word
    end
    local pieces = M.split(longer, width)
    line = table.remove(pieces)
    vim.list_extend(lines, pieces)
  end
  table.insert(lines, line)
  return lines
end

--- Return the width of the narrowest window that shows a buffer.
---@param buf integer
---@return integer
function M.width_of(buf)
  local width = vim.o.columns
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    width = math.min(width, info.width - info.textoff)
  end
  return math.max(width, 1)
end

---@class jumpseat.Message
---@field text string
---@field highlight string
---@field is_above boolean whether the message is shown above the line with its mark, instead of below

---@type table<integer, table<integer, jumpseat.Message>> by buffer and mark: the messages that are shown
local messages = {}

--- Show a message below a line, or above it if `message.is_above` is set. With `id`, replace that message.
---@param buf integer
---@param row integer from 0
---@param message jumpseat.Message
---@param id integer? the mark of the message to replace
local function put_message(buf, row, message, id)
  local lines = vim.tbl_map(
    function(line) return { { line, message.highlight } } end,
    wrap(message.text, math.min(WIDTH, M.width_of(buf)))
  )
  local options = { id = id, virt_lines = lines, virt_lines_above = message.is_above, undo_restore = false }
  id = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options)
  messages[buf] = messages[buf] or {}
  messages[buf][id] = message
end

--- Show a message below a line, until the next turn.
---@param buf integer
---@param row integer from 0
---@param text string
---@param highlight string
function M.show_below(buf, row, text, highlight)
  local win = vim.fn.win_findbuf(buf)[1]
  -- A closed fold would hide the message with the line, so show the message above the next line.
  local is_folded = win and vim.api.nvim_win_call(win, function() return vim.fn.foldclosed(row + 1) end) ~= -1
  local is_above = is_folded and row + 1 < vim.api.nvim_buf_line_count(buf)
  put_message(
    buf,
    is_above and row + 1 or row,
    { text = text, highlight = highlight, is_above = is_above or false }
  )
end

-- Neovim does not wrap virtual lines, so wrap them again when a window changes its width.
vim.api.nvim_create_autocmd({ 'WinResized', 'VimResized' }, {
  group = vim.api.nvim_create_augroup('jumpseat.view', {}),
  callback = function()
    for buf, each in pairs(messages) do
      for id, message in pairs(vim.api.nvim_buf_is_loaded(buf) and each or {}) do
        local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, id, {})
        if at[1] then put_message(buf, at[1], message, id) end
      end
    end
  end,
})

---@param buf integer
---@param row integer
---@param err jumpseat.Error
function M.show_error(buf, row, err) M.show_below(buf, row, '✗ ' .. wire.format_error(err), 'JumpseatError') end

--- Remove the messages of a buffer. The labels at headings stay.
---@param buf integer
---@return boolean removed false if there were none
function M.clear_messages(buf)
  for id in pairs(messages[buf] or {}) do
    vim.api.nvim_buf_del_extmark(buf, namespace, id)
  end
  local removed = messages[buf] ~= nil
  messages[buf] = nil
  return removed
end

--- Set the options of a window that shows a chat. Folds are manual: `foldexpr` would run for each piece of an answer.
---@param win integer
function M.set_up_window(win)
  local options = vim.wo[win][0]
  options.winbar = WINBAR
  options.wrap, options.linebreak = true, true
  options.foldmethod, options.foldenable, options.foldlevel = 'manual', true, 0
  options.foldtext = "v:lua.require'jumpseat.display.folds'.foldtext()"
end

---@param buf integer
function M.forget(buf)
  folds.forget(buf)
  statuses[buf], messages[buf], headings[buf] = nil, nil, nil
end

return M
