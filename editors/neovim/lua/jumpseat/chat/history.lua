--- Kept conversations: pick, show, continue, fork and delete them.
local chat = require('jumpseat.chat')
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local log = require('jumpseat.core.log')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

local DELETE = 'Delete'
local MORE = { title = '… more' }

--- Format a UTC time of the daemon in the user's time zone.
---@param time string
---@return string
local function format_time(time)
  local year, month, day, hour, minute = time:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+)')
  local parts = { year = year, month = month, day = day, hour = hour, min = minute, isdst = false }
  local as_local = os.time(parts)
  local offset = os.difftime(as_local, os.time(os.date('!*t', as_local) --[[@as osdateparam]]))
  return os.date('%Y-%m-%d %H:%M', as_local + offset) --[[@as string]]
end

---@param row table
---@return string
local function describe(row)
  if row == MORE then return row.title end
  local parts = {
    format_time(row.updatedAt),
    row.title,
    ('%d %s'):format(row.turns, row.turns == 1 and 'turn' or 'turns'),
  }
  vim.list_extend(parts, { row.model })
  return table.concat(parts, ' · ')
end

--- Fetch a kept conversation and its text.
---@param id string
---@param callback fun(text: string, conversation: table)
local function fetch(id, callback)
  client.request('conversations/get', { id = id }, function(err, conversation)
    if err then return log.error(err) end
    client.request('transcript/render', {
      messages = conversation.messages,
      model = conversation.model,
      system = conversation.system,
      settings = conversation.settings,
      conversationId = id,
      trimAnswers = true,
    }, function(failure, result)
      if failure then return log.error(failure) end
      callback(result.text, conversation)
    end)
  end)
end

---@param row table
local function continue(row)
  local open = vim
    .iter(chats.list())
    :find(function(buf) return transcript.find_value(buf, 'conversation') == row.id end)
  if open then return chat.open({ buf = open }) end
  fetch(row.id, function(text, conversation)
    transcript.fetch_headings(conversation.model, function(err, headings)
      if err then return log.error(err) end
      local lines = vim.split(text, '\n', { plain = true })
      -- After a failed turn, the last message is the question itself.
      local messages = conversation.messages
      if #messages == 0 or messages[#messages].role == 'assistant' then
        vim.list_extend(lines, { headings.user, '', '' })
      end
      chat.open({ lines = lines })
    end)
  end)
end

---@param row table
local function preview(row)
  fetch(row.id, function(text)
    local windows = vim.api.nvim_tabpage_list_wins(0)
    local shown = vim
      .iter(windows)
      :find(function(win) return vim.b[vim.api.nvim_win_get_buf(win)].jumpseat_preview end)
    if shown then vim.api.nvim_set_current_win(shown) end
    vim.cmd(shown and 'enew' or 'botright new')
    vim.b.jumpseat_preview = true
    vim.bo.modeline = false
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, '\n', { plain = true }))
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.filetype, vim.bo.modifiable = 'nofile', 'wipe', 'markdown', false
  end)
end

---@param row table
local function delete(row)
  vim.ui.select({ 'No', DELETE }, { prompt = ('Delete "%s"?'):format(row.title) }, function(choice)
    if choice ~= DELETE then return end
    client.request('conversations/delete', { id = row.id }, function(err, result)
      if err then return log.error(err) end
      log.notify(
        result.deleted and 'The conversation was deleted.' or 'The conversation was already deleted.'
      )
    end)
  end)
end

---@param row table
local function rename(row)
  vim.ui.input({ prompt = 'Title: ', default = row.title }, function(title)
    if not title or vim.trim(title) == '' then return end
    client.request('conversations/rename', { id = row.id, title = title }, function(err, renamed)
      if err then return log.error(err) end
      log.notify(('The conversation was renamed to "%s".'):format(renamed.title))
    end)
  end)
end

---@param row table
local function fork(row)
  client.request('conversations/fork', { id = row.id }, function(err, new)
    if err then return log.error(err) end
    continue(new)
  end)
end

local ACTIONS = {
  { name = 'Continue', run = continue },
  { name = 'Preview', run = preview },
  { name = 'Fork', run = fork },
  { name = 'Rename', run = rename },
  { name = DELETE, run = delete },
}

---@param row table
local function choose_action(row)
  local options = { prompt = row.title, format_item = function(action) return action.name end }
  vim.ui.select(ACTIONS, options, function(action)
    if action then action.run(row) end
  end)
end

--- Pick a kept conversation.
---@param query string words to search for; empty for all conversations
---@param here boolean only those of the current directory
---@param cursor? string the page to show
function M.pick(query, here, cursor)
  local params =
    { query = query ~= '' and query or nil, cwd = here and vim.fn.getcwd() or nil, cursor = cursor }
  client.request('conversations/list', params, function(err, result)
    if err then return log.error(err) end
    local rows = result.conversations
    if #rows == 0 then return log.notify('No conversation was found.') end
    if result.nextCursor then table.insert(rows, MORE) end
    vim.ui.select(rows, { prompt = 'Conversation:', format_item = describe }, function(row)
      if row == MORE then return M.pick(query, here, result.nextCursor) end
      if row then choose_action(row) end
    end)
  end)
end

return M
