--- Lists kept conversations, and previews, continues, forks, renames and deletes them.
local chat = require('jumpseat.chat')
local chats = require('jumpseat.core.chats')
local checklist = require('jumpseat.display.checklist')
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local log = require('jumpseat.core.log')
local pickers = require('jumpseat.chat.pickers')
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
  -- `os.time` reads the parts as local time, so add the offset of the time zone.
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

--- Show a conversation in a window.
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

--- Delete conversations one after the other.
---@param rows table[]
---@param callback fun(deleted: integer) receives the number of conversations that this call has deleted
local function delete_all(rows, callback)
  local deleted = 0
  local function delete_from(number)
    if number > #rows then return callback(deleted) end
    client.request('conversations/delete', { id = rows[number].id }, function(err, result)
      if err then return log.error(err) end
      if result.deleted then deleted = deleted + 1 end
      delete_from(number + 1)
    end)
  end
  delete_from(1)
end

--- Delete conversations if the user confirms.
---@param rows table[]
---@param callback? fun() called when they are deleted
local function delete(rows, callback)
  local what = #rows == 1 and ('"%s"'):format(rows[1].title) or ('%d conversations'):format(#rows)
  vim.ui.select({ 'No', DELETE }, { prompt = ('Delete %s?'):format(what) }, function(choice)
    if choice ~= DELETE then return end
    delete_all(rows, function(deleted)
      if #rows > 1 then
        local count = deleted == 1 and '1 conversation was' or deleted .. ' conversations were'
        log.notify(('%s deleted.'):format(count))
      else
        log.notify(
          deleted == 1 and 'The conversation was deleted.' or 'The conversation was already deleted.'
        )
      end
      if callback then callback() end
    end)
  end)
end

--- Let the user select the conversations to delete.
---@param rows table[]
local function delete_several(rows)
  local selected = {}
  checklist.open({
    title = 'Delete conversations',
    footer = '<Space> select · <CR> delete · q close',
    format = function()
      return vim.tbl_map(
        function(row) return ('[%s] %s'):format(selected[row.id] and 'x' or ' ', describe(row)) end,
        rows
      )
    end,
    toggle = function(line) selected[rows[line].id] = not selected[rows[line].id] end,
    accept = function()
      local chosen = vim.tbl_filter(function(row) return selected[row.id] end, rows)
      if #chosen > 0 then delete(chosen) end
    end,
  })
end

---@param id string
---@param title string
local function rename(id, title)
  client.request('conversations/rename', { id = id, title = title }, function(err, renamed)
    if err then return log.error(err) end
    log.notify(('The conversation was renamed to "%s".'):format(renamed.title))
  end)
end

--- Let the user change a title, and rename the conversation.
---@param id string
---@param title string
local function ask_for_title(id, title)
  vim.ui.input({ prompt = 'Title: ', default = title }, function(text)
    if text and vim.trim(text) ~= '' then rename(id, text) end
  end)
end

--- Let a model suggest a title, and offer it to the user.
---@param id string
local function suggest_title(id)
  log.notify('Asking the model for a title …')
  client.request('conversations/suggestTitle', { id = id }, function(err, result)
    if err then return log.error(err) end
    ask_for_title(id, result.title)
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
  { name = 'Rename', run = function(row) ask_for_title(row.id, row.title) end },
  { name = 'Suggest a title', run = function(row) suggest_title(row.id) end },
  { name = DELETE, run = function(row) delete({ row }) end },
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
---@param here boolean whether to list only conversations of the current directory
---@param cursor? string the page to show; default: the first
function M.pick(query, here, cursor)
  local params =
    { query = query ~= '' and query or nil, cwd = here and vim.fn.getcwd() or nil, cursor = cursor }
  client.request('conversations/list', params, function(err, result)
    if err then return log.error(err) end
    local rows = result.conversations
    if #rows == 0 then return log.notify('No conversation was found.') end
    -- The row `MORE`, which shows the next page, is not a conversation.
    local function on_conversation(run)
      return function(row)
        if row == MORE then return M.pick(query, here, result.nextCursor) end
        run(row)
      end
    end
    pickers.open({
      title = 'Conversation',
      rows = vim.list_extend(vim.list_slice(rows), result.nextCursor and { MORE } or {}),
      describe = describe,
      preview = function(row, show)
        if row == MORE then return show({}) end
        fetch(row.id, function(text) show(vim.split(text, '\n', { plain = true })) end)
      end,
      open = on_conversation(continue),
      act = on_conversation(choose_action),
      delete = function(chosen)
        local wanted = vim.tbl_filter(function(row) return row ~= MORE end, chosen)
        if #wanted > 0 then delete(wanted, function() M.pick(query, here, cursor) end) end
      end,
      delete_several = function() delete_several(rows) end,
    })
  end)
end

--- Rename the kept conversation of a chat.
---@param buf integer
---@param title string empty to let a model suggest one
function M.title(buf, title)
  if not chats.get(buf) then return log.warn('This buffer is not a chat.') end
  local id = transcript.find_value(buf, 'conversation')
  if not id then
    local hint = config.get().keep == false and "The option 'keep' is off." or 'Send a question first.'
    return log.warn('This chat has no kept conversation. ' .. hint)
  end
  if title ~= '' then return rename(id, title) end
  suggest_title(id)
end

return M
