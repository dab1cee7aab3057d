--- Edits: the daemon rewrites a region, which is shown as a diff and applied if the text is still the one that was sent.
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local diff = require('jumpseat.edit.diff')
local fire = require('jumpseat.core.event')
local folds = require('jumpseat.display.folds')
local log = require('jumpseat.core.log')
local region = require('jumpseat.core.region')
local turns = require('jumpseat.daemon.turn')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.edit')

---@class jumpseat.Edit
---@field target jumpseat.Region the region when it was sent
---@field sent string its text
---@field lines string[] the lines that the region touched when it was sent
---@field marks integer[] one for the region, or one for each line of a block
---@field group integer autocommands
---@field instruction string
---@field turn jumpseat.Turn?
---@field answer string the complete lines that the model has written
---@field rest string[] the pieces of its unfinished line
---@field size integer the bytes of `answer` and `rest`
---@field progress integer? the mark of the label on the first line
---@field new_lines string[]? the rewritten lines

---@type table<integer, jumpseat.Edit> by buffer
local edits = {}

---@param target jumpseat.Region
---@return integer[]
local function mark_region(target)
  local first, last = target.spans[1], target.spans[#target.spans]
  local spans = { { first.row, first.first, last.row, last.last } }
  if target.kind == 'block' then
    spans = vim.tbl_map(function(span) return { span.row, span.first, span.row, span.last } end, target.spans)
  end
  return vim.tbl_map(function(span)
    -- Text typed at either edge of the region is not part of it.
    local empty = span[1] == span[3] and span[2] == span[4]
    return vim.api.nvim_buf_set_extmark(target.buf, namespace, span[1], span[2], {
      end_row = span[3],
      end_col = span[4],
      right_gravity = not empty,
      end_right_gravity = false,
    })
  end, spans)
end

--- Return the region at its current position.
---@param edit jumpseat.Edit
---@return jumpseat.Region
local function locate(edit)
  local buf, spans = edit.target.buf, {}
  for _, id in ipairs(edit.marks) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, id, { details = true })
    local row, col, last_row, last_col = at[1], at[2], at[3].end_row or at[1], at[3].end_col or at[2]
    for each = row, last_row do
      local line = vim.api.nvim_buf_get_lines(buf, each, each + 1, false)[1] or ''
      table.insert(spans, {
        row = each,
        first = each == row and col or 0,
        last = each == last_row and last_col or #line,
      })
    end
  end
  return { buf = buf, kind = edit.target.kind, spans = spans }
end

---@param edit jumpseat.Edit
---@return boolean
local function is_unchanged(edit)
  local now = locate(edit)
  local first, last = now.spans[1], now.spans[#now.spans]
  return last.row - first.row + 1 == #now.spans and region.text(now) == edit.sent
end

--- Return the lines that result if this text replaces the region, or nil if a block would get another number of lines.
---@param edit jumpseat.Edit
---@param text string
---@return string[]?
local function compute_lines(edit, text)
  local target = edit.target
  -- Neovim stores line ends separately, so a carriage return is text, and wanted only if the old text had one.
  if not edit.sent:find('\r', 1, true) then text = text:gsub('\r', '') end
  if target.kind == 'line' then
    if text == '' then return {} end
    return vim.split((text:gsub('\n$', '')), '\n', { plain = true })
  end
  local new = vim.split(text, '\n', { plain = true })
  local first, last = target.spans[1], target.spans[#target.spans]
  if target.kind == 'block' then
    if #new ~= #target.spans then return nil end
    for number, span in ipairs(target.spans) do
      local line = edit.lines[number]
      new[number] = line:sub(1, span.first) .. new[number] .. line:sub(span.last + 1)
    end
    return new
  end
  new[1] = edit.lines[1]:sub(1, first.first) .. new[1]
  new[#new] = new[#new] .. edit.lines[#edit.lines]:sub(last.last + 1)
  return new
end

--- Show the model's state and the size of its answer after the first line.
---@param edit jumpseat.Edit
local function show_progress(edit)
  local buf = edit.target.buf
  local text = view.status(buf).detail or view.label(buf) or ''
  if edit.size > 0 then
    local size = edit.size < 1000 and '%d bytes' or '%.1f kB'
    text = text .. ' · ' .. size:format(edit.size < 1000 and edit.size or edit.size / 1000)
  end
  edit.progress = view.show_label(buf, locate(edit).spans[1].row, '… ' .. text, edit.progress)
end

---@param edit jumpseat.Edit
local function hide_progress(edit)
  if edit.progress then view.remove_label(edit.target.buf, edit.progress) end
  edit.progress = nil
  view.update(edit.target.buf, { state = vim.NIL, detail = vim.NIL })
end

--- Remove the edit of a buffer and everything that is shown of it.
---@param buf integer
local function clear(buf)
  local edit = edits[buf]
  if not edit then return end
  edits[buf] = nil
  vim.api.nvim_del_augroup_by_id(edit.group)
  if not vim.api.nvim_buf_is_loaded(buf) then return view.forget(buf) end
  diff.clear(buf)
  hide_progress(edit)
  for _, id in ipairs(edit.marks) do
    vim.api.nvim_buf_del_extmark(buf, namespace, id)
  end
end

--- Drop an edit, even while it is being written.
---@param buf integer
local function drop(buf)
  local edit = edits[buf]
  if edit and edit.turn then edit.turn:stop() end
  clear(buf)
end

--- Drop the edit when the buffer is unloaded or read from its file again. Draw the preview again when the window's width
--- changes.
---@param buf integer
---@return integer group
local function watch_buffer(buf)
  local group = vim.api.nvim_create_augroup('jumpseat.edit.' .. buf, {})
  vim.api.nvim_create_autocmd({ 'WinResized', 'VimResized' }, {
    group = group,
    callback = function()
      local edit = edits[buf]
      if not edit or not edit.new_lines then return end
      diff.show(buf, locate(edit).spans[1].row, edit.lines, edit.new_lines)
    end,
  })
  vim.api.nvim_create_autocmd({ 'BufReadPre', 'BufUnload' }, {
    group = group,
    buffer = buf,
    callback = function()
      drop(buf)
      if type(vim.v.exiting) == 'number' then return end
      log.warn('The edit was discarded because its buffer was closed or reloaded.')
    end,
  })
  return group
end

--- Remove a fence around the lines that the model has written. This is only for the preview: the daemon's result is exact.
---@param answer string
---@return string
local function remove_fence(answer) return (answer:gsub('^%s*```[^\n]*\n', ''):gsub('\n```%s*$', '')) end

--- Add deltas to the model's answer.
---@param edit jumpseat.Edit
---@param deltas table[]
---@return boolean completed whether another line is complete
local function collect(edit, deltas)
  local completed = false
  for _, delta in ipairs(deltas) do
    if delta.type == 'response' then
      edit.answer, edit.rest, edit.size = '', {}, 0
    elseif delta.type == 'text_delta' then
      edit.size = edit.size + #delta.text
      local lines, rest = delta.text:match('^(.*\n)(.*)$')
      if lines then
        edit.answer = edit.answer .. table.concat(edit.rest) .. lines
        edit.rest, completed = {}, true
      end
      table.insert(edit.rest, rest or delta.text)
    end
  end
  return completed
end

--- Show a batch of deltas: the progress, and the complete lines as a diff.
---@param edit jumpseat.Edit
---@param deltas table[]
local function show_deltas(edit, deltas)
  local buf = edit.target.buf
  local completed = collect(edit, deltas)
  if edits[buf] ~= edit then return end
  for _, delta in ipairs(deltas) do
    local changes = view.changes(delta)
    view.update(buf, { state = changes.state, detail = changes.detail })
  end
  show_progress(edit)
  if not completed or not is_unchanged(edit) then return end
  -- The space stands for the incomplete line.
  local lines = compute_lines(edit, remove_fence(edit.answer) .. ' ') or {}
  table.remove(lines)
  local old = vim.list_slice(edit.lines, 1, math.min(#lines, #edit.lines))
  diff.show(buf, locate(edit).spans[1].row, old, lines)
end

---@param edit jumpseat.Edit
---@param outcome jumpseat.Outcome
local function finish(edit, outcome)
  local buf = edit.target.buf
  edit.turn = nil
  if edits[buf] ~= edit then return end
  local spans = locate(edit).spans
  local row = spans[1].row
  hide_progress(edit)
  local replacement = outcome.result and outcome.result.replacement
  local new_lines = replacement and compute_lines(edit, replacement)
  if new_lines then
    edit.new_lines = new_lines
    folds.unfold(buf, row, spans[#spans].row)
    diff.show(buf, row, edit.lines, new_lines)
    log.notify('The edit is ready: :Jumpseat accept applies it, :Jumpseat reject discards it.')
  else
    clear(buf)
    if outcome.cancelled then
      log.notify('The edit was stopped.')
    elseif outcome.error then
      view.show_error(buf, row, outcome.error)
      vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertEnter', 'InsertLeave' }, {
        group = vim.api.nvim_create_augroup('jumpseat.edit.' .. buf, {}),
        buffer = buf,
        callback = function()
          view.clear_messages(buf)
          return true
        end,
      })
    elseif replacement then
      log.warn('The answer does not have as many lines as the block, so it cannot be applied.')
    else
      local text = vim.trim(outcome.result.text)
      log.warn('The model returned no text to apply' .. (text ~= '' and ': ' .. text or '.'))
    end
  end
  fire('EditEnded', { buf = buf, error = outcome.error, ready = new_lines ~= nil })
end

---@param target jumpseat.Region
---@param instruction string
local function start_edit(target, instruction)
  local buf = target.buf
  clear(buf)
  view.clear_messages(buf)
  local first, last = target.spans[1].row, target.spans[#target.spans].row
  ---@type jumpseat.Edit
  local edit = {
    target = target,
    sent = region.text(target),
    lines = vim.api.nvim_buf_get_lines(buf, first, last + 1, false),
    marks = mark_region(target),
    group = watch_buffer(buf),
    instruction = instruction,
    answer = '',
    rest = {},
    size = 0,
  }
  edits[buf] = edit
  folds.unfold(buf, first, last)
  view.update(buf, { state = client.info() and 'waiting' or 'starting' })
  show_progress(edit)
  local params = {
    target = region.block(target),
    instruction = instruction,
    model = config.get().model,
    maxTokensDefault = 'model', -- A truncated edit cannot be applied.
  }
  edit.turn = turns.start(
    'edit/start',
    params,
    function(deltas) show_deltas(edit, deltas) end,
    function(outcome) finish(edit, outcome) end
  )
end

--- Rewrite a region. Asks for the instruction if it is empty.
---@param target jumpseat.Region
---@param instruction string
function M.start(target, instruction)
  if not vim.bo[target.buf].modifiable then
    return log.warn("This buffer cannot be rewritten: 'modifiable' is off.")
  end
  if edits[target.buf] then
    return log.warn(
      'This buffer already has an edit. Run :Jumpseat accept, :Jumpseat reject or :Jumpseat stop first.'
    )
  end
  if instruction ~= '' then return start_edit(target, instruction) end
  vim.ui.input({ prompt = 'Rewrite how? ' }, function(text)
    if text and text ~= '' and vim.api.nvim_buf_is_loaded(target.buf) then start_edit(target, text) end
  end)
end

--- Show the new text beside a buffer that has changed since the region was sent.
---@param edit jumpseat.Edit
local function offer_diff(edit)
  local buf = edit.target.buf
  local spans = locate(edit).spans
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local merged = vim.list_slice(lines, 1, spans[1].row)
  vim.list_extend(merged, edit.new_lines)
  vim.list_extend(merged, vim.list_slice(lines, spans[#spans].row + 2))
  vim.cmd('diffthis')
  vim.cmd('vertical new')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, merged)
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.filetype = 'nofile', 'wipe', vim.bo[buf].filetype
  vim.cmd('diffthis')
end

--- Return the finished edit of a buffer. If there is none, show the reason.
---@param buf integer
---@return jumpseat.Edit?
local function get_finished(buf)
  local edit = edits[buf]
  if not edit then return log.warn('There is no finished edit in this buffer.') end
  if edit.turn then return log.warn('The edit is still being written; :Jumpseat stop stops it.') end
  return edit
end

--- Apply the rewritten text, in one undo step.
---@param buf integer
function M.accept(buf)
  local edit = get_finished(buf)
  if not edit then return end
  if not vim.bo[buf].modifiable then
    return log.warn("The edit cannot be applied to this buffer: 'modifiable' is off.")
  end
  if not is_unchanged(edit) then
    offer_diff(edit)
    clear(buf)
    return log.warn(
      'The text has changed since it was sent, so the edit was not applied. The new text is shown beside it.'
    )
  end
  local row = locate(edit).spans[1].row
  clear(buf)
  diff.apply(buf, row, edit.lines, edit.new_lines)
end

--- Drop the rewritten text.
---@param buf integer
function M.reject(buf)
  if view.clear_messages(buf) then return end
  local edit = edits[buf]
  if not edit then return log.warn('There is no edit in this buffer.') end
  drop(buf)
end

--- Rewrite the same text again.
---@param buf integer
---@param instruction string the previous one is used if empty
function M.rewrite_again(buf, instruction)
  local edit = get_finished(buf)
  if not edit then return end
  local target = locate(edit)
  start_edit(target, instruction ~= '' and instruction or edit.instruction)
end

--- Stop a running edit.
---@param buf integer
---@return boolean stopped
function M.stop(buf)
  local edit = edits[buf]
  if not edit or not edit.turn then return false end
  view.update(buf, { state = 'stopping', detail = vim.NIL })
  show_progress(edit)
  edit.turn:stop()
  return true
end

return M
