--- Shows the tool calls that wait for the user's approval in a small window, one at a time.
local client = require('jumpseat.daemon.client')
local compare = require('jumpseat.core.diff')
local fire = require('jumpseat.core.event')
local float = require('jumpseat.display.float')
local folds = require('jumpseat.display.folds')
local log = require('jumpseat.core.log')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.approvals')

--- For this long after a window has opened by itself, its keys are ignored: the user may have typed them for the chat.
local GUARD_MS = 300

local REASONS = {
  rule = 'A rule of your configuration asks about each call.',
  changed = 'The tool has changed since you allowed it.',
  outside = 'It uses a path outside the workspace.',
}

---@class jumpseat.Approval
---@field buf integer the chat
---@field turn string
---@field delta table the `tool_approval`

---@type jumpseat.Approval[] oldest first
local waiting = {}
---@type { approval: jumpseat.Approval, float: jumpseat.Float }?
local shown

---@param uri string
---@return string
local function shorten_uri(uri)
  return vim.startswith(uri, 'file:') and vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.') or uri
end

---@param change { uri: string, oldText: string?, newText: string }
---@return string[]
local function diff_file(change)
  local name = shorten_uri(change.uri)
  local text = compare(change.oldText or '', change.newText, { ctxlen = 3 }) --[[@as string]]
  local lines = { '--- ' .. (change.oldText and name or '/dev/null'), '+++ ' .. name }
  return vim.list_extend(lines, vim.split(vim.trim(text), '\n', { plain = true }))
end

--- Return the lines that describe a call: its title, the reason to ask, a hint, and the call's changes or arguments.
---@param delta table
---@param hint string
---@return string[]
local function describe(delta, hint)
  local tool = delta.server .. '/' .. delta.tool
  local lines = { delta.title:find(tool, 1, true) and delta.title or delta.title .. ' · ' .. tool }
  vim.list_extend(lines, { REASONS[delta.reason] })
  vim.list_extend(lines, { hint, '' })
  for _, change in ipairs(delta.diff or {}) do
    vim.list_extend(lines, diff_file(change))
  end
  if delta.diff then return lines end
  for key, value in vim.spairs(delta.arguments or {}) do
    local text = type(value) == 'string' and value or vim.json.encode(value)
    vim.list_extend(lines, vim.split(('%s: %s'):format(key, text), '\n', { plain = true }))
  end
  return lines
end

--- Return the keys that decide, with their meanings, in the same order as `jumpseat` shows them in a terminal.
---@param delta table
---@return [string, string, table][] key, meaning, params of `tools/decide`
local function list_decisions(delta)
  local decisions = { { 'y', 'yes', { decision = 'allow' } }, { 'n', 'no', { decision = 'deny' } } }
  local function add(key, meaning, remember)
    table.insert(decisions, { key, meaning, { decision = 'allow', remember = remember } })
  end
  if vim.list_contains(delta.remember, 'conversation') then
    add('a', 'allow this tool in this conversation', 'conversation')
  elseif vim.list_contains(delta.remember, 'turn') then
    add('a', 'allow this tool in this answer', 'turn')
  end
  if vim.list_contains(delta.remember, 'always') then add('A', 'always allow this tool', 'always') end
  return decisions
end

local function close_float()
  local closing = shown
  shown = nil
  if closing then closing.float.close() end
end

--- Show in the window bar of a chat, and in status lines, whether a call waits.
---@param buf integer
local function show_state(buf)
  if vim.iter(waiting):any(function(each) return each.buf == buf end) then
    view.update(buf, { state = 'approving' })
  end
  vim.cmd.redrawstatus({ bang = true })
end

--- Remove the approvals that no longer wait. If one of them was shown, show the next one.
---@param is_done fun(approval: jumpseat.Approval): boolean
local function remove(is_done)
  local before = #waiting
  waiting = vim.tbl_filter(function(each) return not is_done(each) end, waiting)
  if #waiting == before then return end
  local was_shown = shown and is_done(shown.approval)
  if was_shown then close_float() end
  if was_shown and waiting[1] then M.show(waiting[1]) end
end

---@param approval jumpseat.Approval
---@param decision table
local function decide(approval, decision)
  local params = { turnId = approval.turn, toolUseId = approval.delta.toolUseId }
  client.request('tools/decide', vim.tbl_extend('force', params, decision), function(err, result)
    if err then return log.error(err) end
    if not result.decided then log.notify('The call no longer waits for a decision.') end
  end)
  view.update(approval.buf, { state = 'calling' })
  remove(function(each) return each == approval end)
  show_state(approval.buf)
end

---@param approval jumpseat.Approval
local function deny_with_reason(approval)
  vim.ui.input({ prompt = 'Why not? ' }, function(text)
    if not text then return end
    decide(approval, { decision = 'deny', message = vim.trim(text) ~= '' and vim.trim(text) or nil })
  end)
end

--- Highlight the title, the lines between it and the first empty line, and the lines of a diff.
---@param buf integer
---@param has_diff boolean
local function highlight(buf, has_diff)
  local is_body = false
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    is_body = is_body or line == ''
    local sign = has_diff and is_body and line:sub(1, 1)
    local group = row == 1 and 'JumpseatTitle'
      or sign == '+' and 'JumpseatDiffAdd'
      or sign == '-' and 'JumpseatDiffDelete'
      or (sign == '@' or not is_body) and 'JumpseatLabel'
    if group then vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, 0, { line_hl_group = group }) end
  end
end

--- Show an approval in a floating window.
---@param approval jumpseat.Approval
---@param is_requested? boolean whether the user asked for the window, which then gets the focus immediately
function M.show(approval, is_requested)
  close_float()
  local delta, opened = approval.delta, vim.uv.now()
  local win = vim.fn.bufwinid(approval.buf)
  local here = vim.api.nvim_get_current_win() == win and vim.api.nvim_get_mode().mode == 'n'
  local decisions = list_decisions(delta)
  local words = vim.tbl_map(function(each) return each[1] .. ': ' .. each[2] end, decisions)
  table.insert(words, 'e: no, and explain why')
  local enter = is_requested or here
  local hint = enter and table.concat(words, ' · ') or ':Jumpseat approve opens this window.'
  local new = float.open(describe(delta, hint), {
    title = 'Allow this call?',
    enter = enter,
    over = not is_requested and win ~= -1 and win or nil,
    on_close = function() shown = nil end,
  })
  shown = { approval = approval, float = new }
  highlight(new.buf, delta.diff ~= nil)
  local function map(key, run)
    vim.keymap.set('n', key, function()
      if is_requested or vim.uv.now() - opened > GUARD_MS then run() end
    end, { buffer = new.buf, nowait = true })
  end
  for _, each in ipairs(decisions) do
    map(each[1], function() decide(approval, each[3]) end)
  end
  map('e', function() deny_with_reason(approval) end)
end

--- Show the oldest waiting call of this chat, or else of any chat.
---@param buf integer
function M.open(buf)
  local approval = vim.iter(waiting):find(function(each) return each.buf == buf end) or waiting[1]
  if not approval then return log.notify('No call waits for an approval.') end
  M.show(approval, true)
end

--- Return the number of calls that wait.
---@return integer
function M.count() return #waiting end

---@param buf integer
---@param turn string
---@param delta table
local function add(buf, turn, delta)
  local approval = { buf = buf, turn = turn, delta = delta }
  table.insert(waiting, approval)
  folds.set_status(buf, delta.toolUseId, 'waits for your approval')
  fire('ApprovalRequested', { buf = buf, title = delta.title })
  if shown then return end
  if vim.fn.bufwinid(buf) ~= -1 then return M.show(approval) end
  log.notify(('%s: a call waits for your approval. :Jumpseat approve shows it.'):format(delta.title))
end

---@param buf integer
---@param delta table the `tool_status`
local function show_status(buf, delta)
  local detail = delta.message
  if delta.progress then
    local total = delta.total and (' of %g'):format(delta.total) or ''
    detail = ('%s%g%s'):format(detail and detail .. ' ' or '', delta.progress, total)
  end
  folds.set_status(buf, delta.toolUseId, delta.status, detail)
  -- A tool may have changed files that are open.
  if delta.status == 'completed' then vim.cmd('silent! checktime') end
end

--- Handle those deltas of a turn that concern tool calls, and ignore the others.
---@param buf integer the chat
---@param turn string
---@param deltas table[]
function M.receive(buf, turn, deltas)
  for _, delta in ipairs(deltas) do
    if delta.type == 'tool_approval' then
      add(buf, turn, delta)
    elseif delta.type == 'tool_status' then
      show_status(buf, delta)
      remove(function(each) return each.turn == turn and each.delta.toolUseId == delta.toolUseId end)
    end
  end
  if vim.iter(deltas):any(function(delta) return vim.startswith(delta.type, 'tool_') end) then
    show_state(buf)
  end
end

--- Forget the approvals of a turn that has ended.
---@param turn string
function M.forget(turn)
  remove(function(each) return each.turn == turn end)
end

return M
