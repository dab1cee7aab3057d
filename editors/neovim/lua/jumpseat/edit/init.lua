--- Edits: the model rewrites a text or writes a new text, and the user reviews the result as a diff.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local diff = require('jumpseat.edit.diff')
local fire = require('jumpseat.core.event')
local folds = require('jumpseat.display.folds')
local log = require('jumpseat.core.log')
local references = require('jumpseat.input.references')
local region = require('jumpseat.core.region')
local review = require('jumpseat.edit.review')
local targets = require('jumpseat.edit.target')
local turns = require('jumpseat.daemon.turn')
local view = require('jumpseat.display.view')

local M = {}

---@class jumpseat.Edit
---@field buf integer
---@field target jumpseat.Target
---@field context table[] blocks that are sent with the instruction
---@field instruction string
---@field group integer? the augroup that watches the buffer; nil once the answer is complete
---@field turn jumpseat.Turn?
---@field is_ready boolean whether the answer is complete
---@field answer string the complete lines that the model has written
---@field rest string[] the pieces of the line that the model is writing
---@field size integer the bytes of `answer` and `rest`
---@field progress integer? the extmark of the label that shows the progress

---@type table<integer, jumpseat.Edit> by buffer
local edits = {}

--- Show the model's state and the size of its answer, at the end of the target's first line.
---@param edit jumpseat.Edit
local function show_progress(edit)
  local text = view.status(edit.buf).detail or view.label(edit.buf) or ''
  if edit.size > 0 then
    local size = edit.size < 1000 and '%d bytes' or '%.1f kB'
    text = text .. ' · ' .. size:format(edit.size < 1000 and edit.size or edit.size / 1000)
  end
  edit.progress = view.show_label(edit.buf, (targets.rows(edit.target)), '… ' .. text, edit.progress)
end

---@param edit jumpseat.Edit
local function hide_progress(edit)
  if edit.progress then view.remove_label(edit.buf, edit.progress) end
  edit.progress = nil
  view.update(edit.buf, { state = vim.NIL, detail = vim.NIL })
end

--- Remove the edit of a buffer, with the edit's preview, label and marks.
---@param buf integer
local function clear(buf)
  local edit = edits[buf]
  if not edit then return end
  edits[buf] = nil
  if edit.group then vim.api.nvim_del_augroup_by_id(edit.group) end
  if not vim.api.nvim_buf_is_loaded(buf) then return view.forget(buf) end
  if not edit.is_ready then diff.clear(buf) end
  hide_progress(edit)
  targets.remove(edit.target)
end

--- Discard the edit of a buffer, even while the model is writing.
---@param buf integer
local function drop(buf)
  local edit = edits[buf]
  if edit and edit.turn then edit.turn:stop() end
  review.close(buf)
  clear(buf)
  if edit and not edit.is_ready then fire('EditEnded', { buf = buf, ready = false }) end
end

--- Watch a buffer while the model is writing: if the buffer is unloaded or reloaded, discard the edit.
---@param buf integer
---@return integer group
local function watch_buffer(buf)
  local group = vim.api.nvim_create_augroup('jumpseat.edit.' .. buf, {})
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

--- Remove a fence around the lines that the model has written. Only the preview needs this: the daemon removes the
--- fence from the final text.
---@param answer string
---@return string
local function remove_fence(answer) return (answer:gsub('^%s*```[^\n]*\n', ''):gsub('\n```%s*$', '')) end

--- Add deltas to the model's answer.
---@param edit jumpseat.Edit
---@param deltas table[]
---@return boolean completed whether the deltas completed a line
local function collect(edit, deltas)
  local completed = false
  for _, delta in ipairs(deltas) do
    if delta.type == 'response' then
      -- A second `response` means that the provider starts its answer again: discard the text received so far.
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

--- Handle a batch of deltas: show the progress, and show the complete lines as a diff.
---@param edit jumpseat.Edit
---@param deltas table[]
local function show_deltas(edit, deltas)
  local completed = collect(edit, deltas)
  if edits[edit.buf] ~= edit then return end
  for _, delta in ipairs(deltas) do
    local changes = view.changes(delta)
    view.update(edit.buf, { state = changes.state, detail = changes.detail })
  end
  show_progress(edit)
  if not completed or not targets.is_unchanged(edit.target) then return end
  diff.show(edit.buf, targets.preview(edit.target, remove_fence(edit.answer)))
end

--- Show the error of an edit below a row, until the buffer changes or Insert mode is entered or left.
---@param buf integer
---@param row integer
---@param err jumpseat.Error
local function show_error(buf, row, err)
  view.show_error(buf, row, err)
  vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertEnter', 'InsertLeave' }, {
    group = vim.api.nvim_create_augroup('jumpseat.edit.' .. buf, {}),
    buffer = buf,
    callback = function()
      view.clear_messages(buf)
      return true
    end,
  })
end

--- Open a review of the new text or, in the mode `new`, write the text into the new buffer.
---@param edit jumpseat.Edit
---@param row integer
---@param new string[]
---@return boolean ready whether a review was opened or the new buffer was filled
local function offer(edit, row, new)
  local buf, old = edit.buf, targets.current_lines(edit.target)
  if edit.target.mode == 'new' then
    clear(buf)
    diff.apply(buf, row, diff.compute_hunks(old, new))
    return true
  end
  edit.is_ready = true
  vim.api.nvim_del_augroup_by_id(edit.group)
  edit.group = nil
  if review.open(buf, row, old, new, function() clear(buf) end) == 0 then
    clear(buf)
    log.notify('The model changed nothing.')
    return false
  end
  log.notify('The edit is ready: :Jumpseat accept applies it, :Jumpseat reject discards it.')
  return true
end

---@param edit jumpseat.Edit
---@param outcome jumpseat.Outcome
local function finish(edit, outcome)
  local buf, target, ready = edit.buf, edit.target, false
  edit.turn = nil
  if edits[buf] ~= edit then return end
  local row = targets.rows(target)
  hide_progress(edit)
  diff.clear(buf)
  local replacement = outcome.result and outcome.result.replacement
  local new = replacement and targets.compute_lines(target, replacement, targets.current_lines(target))
  if new then
    ready = offer(edit, row, new)
  else
    clear(buf)
    if outcome.cancelled then
      log.notify('The edit was stopped.')
    elseif outcome.error then
      show_error(buf, row, outcome.error)
    elseif replacement then
      log.warn(
        'The selection has a different number of lines than the new text, so a blockwise edit cannot be applied.'
      )
    else
      local text = vim.trim(outcome.result.text)
      log.warn('The model returned no text to apply' .. (text ~= '' and ': ' .. text or '.'))
    end
  end
  fire('EditEnded', { buf = buf, error = outcome.error, ready = ready })
end

--- Send an edit, after the references and the `/NAME` of a prompt in its instruction have been expanded.
---@param edit jumpseat.Edit
---@param expanded jumpseat.Instruction
local function send(edit, expanded)
  local context = vim.list_extend(vim.list_slice(edit.context), expanded.context)
  local params = {
    target = region.block(edit.target.region),
    instruction = expanded.text,
    context = #context > 0 and context or nil,
    system = expanded.system,
    settings = expanded.settings,
    model = expanded.model or config.get().model,
    maxTokensDefault = 'model', -- Allow the model's maximum, because a truncated edit is useless.
  }
  view.update(edit.buf, { state = client.info() and 'waiting' or 'starting' })
  show_progress(edit)
  edit.turn = turns.start(
    'edit/start',
    params,
    function(deltas) show_deltas(edit, deltas) end,
    function(outcome) finish(edit, outcome) end
  )
end

---@param target jumpseat.Target
---@param context table[]
---@param instruction string
local function start_edit(target, context, instruction)
  local buf = target.region.buf
  drop(buf)
  view.clear_messages(buf)
  ---@type jumpseat.Edit
  local edit = {
    buf = buf,
    target = target,
    context = context,
    instruction = instruction,
    group = watch_buffer(buf),
    is_ready = false,
    answer = '',
    rest = {},
    size = 0,
  }
  edits[buf] = edit
  folds.unfold(buf, targets.rows(target))
  view.update(buf, { state = 'preparing' })
  show_progress(edit)
  references.expand_instruction(instruction, function(err, expanded)
    if edits[buf] ~= edit then return end
    if err then return finish(edit, { error = err, cancelled = false }) end
    send(edit, expanded)
  end)
end

--- Return the context to send if the model writes new text: the selection, or else the whole buffer.
---@param buf integer
---@param selected jumpseat.Region?
---@return table[]? context nil, after a warning to the user, if that text is too large
local function build_context(buf, selected)
  local text = selected or region.whole(buf)
  local refusal = region.check_size('The text', region.size(text))
  if refusal then return log.warn(refusal) end
  -- The size of an empty buffer is 1, because its line counts with a line ending.
  return region.size(text) > 1 and { region.block(text) } or {}
end

--- Open a window with a new buffer, which gets the file type of the buffer `like`.
---@param like integer
---@return integer buf
local function open_new_buffer(like)
  local filetype = vim.bo[like].filetype
  vim.cmd.new()
  vim.bo.filetype = filetype
  return vim.api.nvim_get_current_buf()
end

--- Whether a buffer has an edit or a review.
---@param buf integer
---@return boolean
function M.is_busy(buf) return edits[buf] ~= nil or review.is_open(buf) end

--- Let the model rewrite a text or write a new text. If the instruction is empty, ask the user for one.
---@param buf integer
---@param selected jumpseat.Region? text to rewrite (default: the current line) or to write about (default: the buffer)
---@param instruction string
---@param mode? jumpseat.EditMode default: `replace`
function M.start(buf, selected, instruction, mode)
  mode = mode or 'replace'
  if mode ~= 'new' and not vim.bo[buf].modifiable then
    return log.warn("This buffer cannot be rewritten: 'modifiable' is off.")
  end
  if mode ~= 'new' and M.is_busy(buf) then
    return log.warn(
      'This buffer already has an edit. Run :Jumpseat accept, :Jumpseat reject or :Jumpseat stop first.'
    )
  end
  local context = {}
  if mode ~= 'replace' then
    local built = build_context(buf, selected)
    if not built then return end
    context = built
  end
  chats.remember_source(buf)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local function begin(text)
    local place = selected or region.lines(buf, line, line)
    if mode == 'new' then place = region.whole(open_new_buffer(buf)) end
    start_edit(targets.new(place, mode), context, text)
  end
  if instruction ~= '' then return begin(instruction) end
  vim.ui.input({ prompt = mode == 'replace' and 'Rewrite how? ' or 'Write what? ' }, function(text)
    if text and text ~= '' and vim.api.nvim_buf_is_loaded(buf) then begin(text) end
  end)
end

--- Return whether the model is still writing the edit of a buffer. If so, warn the user.
---@param buf integer
---@return boolean
local function warn_if_being_written(buf)
  local is_running = edits[buf] ~= nil and not edits[buf].is_ready
  if is_running then log.warn('The edit is still being written; :Jumpseat stop stops it.') end
  return is_running
end

--- Accept all hunks of the new text, in one undo step.
---@param buf integer
function M.accept(buf)
  if not warn_if_being_written(buf) then review.accept(buf) end
end

--- Accept or reject the hunk at the cursor.
---@param buf integer
---@param is_accepted boolean
function M.settle(buf, is_accepted)
  if not warn_if_being_written(buf) then review.settle(buf, is_accepted) end
end

--- Discard the new text, or the message of an edit that failed.
---@param buf integer
function M.reject(buf)
  if view.clear_messages(buf) then return end
  if not M.is_busy(buf) then return log.warn('There is no edit in this buffer.') end
  drop(buf)
end

--- Ask the model to write the text of the last edit again.
---@param buf integer
---@param instruction string if empty, the instruction of the last edit is used
function M.rewrite_again(buf, instruction)
  if warn_if_being_written(buf) then return end
  local edit = edits[buf]
  if not edit then
    return log.warn(
      review.is_open(buf) and 'Only an edit can be rewritten, not a code block.'
        or 'There is no edit to review in this buffer.'
    )
  end
  local place = review.locate_if_partly_accepted(buf) or targets.locate(edit.target)
  local target = targets.new(place, edit.target.mode)
  start_edit(target, edit.context, instruction ~= '' and instruction or edit.instruction)
end

--- Stop the model while it writes the edit of a buffer.
---@param buf integer
---@return boolean stopped
function M.stop(buf)
  local edit = edits[buf]
  if not edit or edit.is_ready then return false end
  if not edit.turn then
    finish(edit, { cancelled = true })
    return true
  end
  view.update(buf, { state = 'stopping', detail = vim.NIL })
  show_progress(edit)
  edit.turn:stop()
  return true
end

return M
