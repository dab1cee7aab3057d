--- Sends a chat: parses the question, expands its references, and writes the answer below it.
local answer = require('jumpseat.display.answer')
local approvals = require('jumpseat.tools.approvals')
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local create = require('jumpseat.chat.create')
local fire = require('jumpseat.core.event')
local log = require('jumpseat.core.log')
local markdown = require('jumpseat.display.markdown')
local models = require('jumpseat.input.models')
local references = require('jumpseat.input.references')
local region = require('jumpseat.core.region')
local transcript = require('jumpseat.daemon.transcript')
local turns = require('jumpseat.daemon.turn')
local view = require('jumpseat.display.view')
local workspace = require('jumpseat.tools.workspace')

local M = {}

--- Run `action` or, if a question is being prepared, schedule it for the end of the preparation: text that the action adds
--- during the preparation would end up above the answer.
---@param chat jumpseat.Chat
---@param action fun()
function M.run_when_prepared(chat, action)
  if not chat.preparing then return action() end
  table.insert(chat.preparing, action)
end

--- End the preparation of a question, and schedule the actions that waited for it.
---@param chat jumpseat.Chat
local function end_preparation(chat)
  local actions = chat.preparing or {}
  chat.preparing = nil
  for _, action in ipairs(actions) do
    -- An earlier action may have started to prepare another question.
    vim.schedule(function() M.run_when_prepared(chat, action) end)
  end
end

--- Reset a chat to the state in which nothing is running.
---@param chat jumpseat.Chat
function M.reset(chat)
  chat.turn, chat.answer = nil, nil
  end_preparation(chat)
  view.update(chat.buf, { state = vim.NIL, detail = vim.NIL })
end

---@param chat jumpseat.Chat
---@param err jumpseat.Error
local function fail(chat, err)
  M.reset(chat)
  view.show_error(chat.buf, vim.api.nvim_buf_line_count(chat.buf) - 1, err)
  require('jumpseat.account.offer').offer_next_step(err)
  fire('TurnEnded', { buf = chat.buf, error = err })
end

--- Write the end of a turn into the buffer.
---@param chat jumpseat.Chat
---@param written jumpseat.Answer
---@param headings { user: string, assistant: string }
---@param outcome jumpseat.Outcome
---@param is_unchanged boolean whether the buffer still matched the sent conversation when the turn started
local function finish(chat, written, headings, outcome, is_unchanged)
  local result = outcome.result or {}
  written.usage = result.usage or written.usage
  local err = not outcome.cancelled and outcome.error or nil
  local after = written:has_text() and '\n\n' .. headings.user .. '\n\n' or ''
  if after == '' then written:remove() end
  if result.stopReason == 'max_rounds' then
    written:add_notice('The model reached a limit on tool use. :Jumpseat send lets it continue.')
  end
  written:close(after, err, outcome.cancelled)
  -- An error with code 0 comes from this plug-in, and may mean that the daemon is gone and has not kept the turn.
  if is_unchanged and not (err and err.code == 0) then written:mark_kept() end
  if chat.answer == written then
    M.reset(chat)
    view.update(chat.buf, { usage = written.usage })
    if err then require('jumpseat.account.offer').offer_next_step(err) end
    require('jumpseat.account').show_quota(chat.buf, written.model)
  end
  fire('TurnEnded', { buf = chat.buf, error = err, stop_reason = result.stopReason })
end

--- Remember the questions as they are sent: the user may edit one later, and ask it again.
---@param chat jumpseat.Chat
---@param sections jumpseat.Section[]
---@param shift integer the number of lines that were added above the sections
local function remember_questions(chat, sections, shift)
  chat.asked = {}
  for number, section in ipairs(sections) do
    if section.role == 'user' and section.message then
      local is_last = vim.iter(sections):skip(number):all(function(each) return not each.message end)
      local stop = is_last and vim.api.nvim_buf_line_count(chat.buf) or section.endLine + shift
      local last = region.find_last_line(chat.buf, stop)
      chat.asked[section.message] =
        vim.api.nvim_buf_get_lines(chat.buf, section.startLine + shift, last, false)
    end
  end
end

---@param chat jumpseat.Chat
---@param params table
---@param headings { user: string, assistant: string }
---@param is_unchanged boolean whether the buffer still matches the sent conversation
local function start_turn(chat, params, headings, is_unchanged)
  markdown.highlight(chat.buf)
  local written = answer.new(chat.buf, headings.assistant)
  view.update(chat.buf, { state = 'waiting', detail = vim.NIL, tokens = vim.NIL })
  fire('TurnStarted', { buf = chat.buf })
  -- Record the model and the kept conversation in the front matter. The chat then continues with both, even if the default
  -- model changes or another editor opens the chat.
  local head = { model = params.model, conversationId = params.conversationId }
  local rendering, outcome = 0, nil
  -- Finish only when the front matter is written, because a handler of `TurnEnded` may save the chat.
  local function finish_if_complete()
    if outcome and rendering == 0 then finish(chat, written, headings, outcome, is_unchanged) end
  end
  local function update_front_matter()
    local model = head.model or written.model
    local conversation = written.conversation or head.conversationId
    if model == head.model and conversation == head.conversationId then return end
    head = { model = model, conversationId = conversation }
    rendering = rendering + 1
    local function write(change) written:edit(change) end
    transcript.set_front_matter(chat.buf, vim.tbl_extend('force', params, head), write, function(err)
      if err then log.write('The front matter was not written: %s', err.message) end
      rendering = rendering - 1
      finish_if_complete()
    end)
  end
  chat.answer = written
  local turn
  turn = turns.start('chat/start', params, function(deltas)
    written:write(deltas)
    approvals.receive(chat.buf, turn.id, deltas)
    if chat.answer ~= written then return end
    if not written:is_valid() then
      M.abort(chat)
      return log.notify('The answer was removed from the chat, so it was stopped.')
    end
    if written.model then update_front_matter() end
  end, function(result)
    outcome = result
    approvals.forget(turn.id)
    finish_if_complete()
  end)
  chat.turn = turn
  end_preparation(chat)
end

--- If the last question is a `/model` command, with or without the name of a model, run it and remove it from the chat.
---@param chat jumpseat.Chat
---@param parsed jumpseat.Parsed
---@return boolean done
local function run_model_command(chat, parsed)
  local content = parsed.messages[#parsed.messages].content
  local name = #content == 1 and (content[1].text or ''):match('^/model%s*(%S*)%s*$')
  if not name then return false end
  local section = transcript.find_section(parsed, #parsed.messages)
  vim.api.nvim_buf_set_lines(chat.buf, section.startLine + 1, section.endLine, false, { '', '' })
  M.reset(chat)
  models.choose(chat.buf, name)
  return true
end

--- Start to prepare a question. Return a function that turns `continue` into the callback of a request. The callback does
--- nothing if the user has stopped the preparation or the buffer is gone. After an error, it ends the preparation.
---@param chat jumpseat.Chat
---@return fun(continue: fun(result: any)): jumpseat.Callback
function M.prepare(chat)
  local buf, preparing = chat.buf, {}
  chat.preparing = preparing
  view.clear_messages(buf)
  view.update(buf, { state = client.info() and 'preparing' or 'starting' })
  return function(continue)
    return function(err, result)
      if chat.preparing ~= preparing or not vim.api.nvim_buf_is_loaded(buf) then return end
      if err then return fail(chat, err) end
      continue(result)
    end
  end
end

--- Whether the model was interrupted between tool calls, so that it can go on without another question.
---@param parsed jumpseat.Parsed
---@return boolean
local function can_continue(parsed)
  local last = parsed.messages[#parsed.messages]
  return last ~= nil and last.role == 'assistant' and last.content[#last.content].type == 'tool_result'
end

--- Remove the empty section for the next question, because the answer continues above it.
---@param buf integer
---@param parsed jumpseat.Parsed
local function remove_empty_section(buf, parsed)
  local last = parsed.turns[#parsed.turns]
  if not last.message then vim.api.nvim_buf_set_lines(buf, last.startLine, -1, false, {}) end
end

--- Return the params of a turn.
---@param parsed jumpseat.Parsed
---@return table
local function build_params(parsed)
  local options = config.get()
  return {
    messages = parsed.messages,
    system = parsed.system,
    model = parsed.model,
    settings = parsed.settings,
    daemonTools = parsed.daemonTools,
    workspaceFolders = { workspace.folder() },
    workspaceRules = options.rules,
    conversationId = parsed.conversationId,
    keep = options.keep,
    transcript = true,
  }
end

--- Send the conversation in the buffer of a chat.
---@param chat jumpseat.Chat
function M.send(chat)
  local buf = chat.buf
  if chat.turn or chat.preparing then
    return log.warn('An answer is being written; :Jumpseat stop stops it.')
  end
  local step = M.prepare(chat)
  create.replace_heading(buf)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local function is_unchanged() return tick == vim.api.nvim_buf_get_changedtick(buf) end
  -- Change the buffer without counting the change as an edit by the user.
  local function write(change)
    local was_unchanged = is_unchanged()
    change()
    if was_unchanged then tick = vim.api.nvim_buf_get_changedtick(buf) end
  end
  local function start(parsed)
    transcript.fetch_headings(
      parsed.model,
      step(function(headings) start_turn(chat, build_params(parsed), headings, is_unchanged()) end)
    )
  end
  local function on_parsed(parsed)
    if can_continue(parsed) then
      write(function() remove_empty_section(buf, parsed) end)
      return start(parsed)
    end
    local last = parsed.messages[#parsed.messages]
    if not last or last.role ~= 'user' then
      M.reset(chat)
      return log.warn('There is no question: write one at the end of the chat.')
    end
    if run_model_command(chat, parsed) then return end
    local head = transcript.front_matter_end(buf)
    local function on_expanded()
      remember_questions(chat, parsed.turns, transcript.front_matter_end(buf) - head)
      start(parsed)
    end
    references.expand(buf, parsed, write, step(on_expanded))
  end
  transcript.parse(transcript.text(buf), step(on_parsed))
end

--- Stop the answer of a chat. The text received so far stays.
---@param chat jumpseat.Chat
---@return boolean stopped false if nothing is running
function M.stop(chat)
  if chat.turn then
    view.update(chat.buf, { state = 'stopping' })
    chat.turn:stop()
  elseif chat.preparing then
    M.reset(chat)
  else
    return false
  end
  return true
end

--- Stop the answer of a chat without changing the text any further.
---@param chat jumpseat.Chat
function M.abort(chat)
  if chat.turn then chat.turn:stop() end
  if chat.answer then chat.answer:abandon() end
  M.reset(chat)
end

return M
