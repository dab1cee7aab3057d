--- Chats: Markdown buffers that are conversations.
local client = require('jumpseat.client')
local config = require('jumpseat.config')
local view = require('jumpseat.view')

local M = {}

---@class jumpseat.Chat
---@field buf integer
---@field id string? the kept conversation; the daemon names it
---@field turn jumpseat.Turn?
---@field preparing boolean the question is being read
---@field stopped boolean the user stopped it while it was prepared

---@type table<integer, jumpseat.Chat>
local chats = {}
local count = 0
---@type integer? the buffer that `@buffer` means: the last one that is no chat
local source

---@param name string
---@param data table
local function event(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = 'Jumpseat' .. name, data = data, modeline = false })
end

---@param buf integer
---@return boolean
function M.is_chat(buf) return chats[buf] ~= nil end

---@return integer?
function M.source() return source and vim.api.nvim_buf_is_loaded(source) and source or nil end

---@param buf integer
local function remember_source(buf)
  local is_file = vim.bo[buf].buftype == '' and vim.bo[buf].buflisted
  local is_empty = vim.api.nvim_buf_get_name(buf) == '' and vim.fn.getbufinfo(buf)[1].linecount <= 1
  if is_file and not is_empty and not chats[buf] then source = buf end
end

local function watch_sources()
  vim.api.nvim_create_autocmd('BufLeave', {
    group = vim.api.nvim_create_augroup('jumpseat.source', {}),
    callback = function(args) remember_source(args.buf) end,
  })
end

--- Make a chat of a buffer.
---@param buf integer
---@return jumpseat.Chat
function M.attach(buf)
  local chat = chats[buf]
  if chat then return chat end
  if next(chats) == nil then watch_sources() end
  count = count + 1
  chat = { buf = buf, preparing = false, stopped = false }
  chats[buf] = chat
  if vim.bo[buf].filetype == '' then vim.bo[buf].filetype = 'markdown' end
  vim.bo[buf].omnifunc = "v:lua.require'jumpseat.complete'.omnifunc"
  vim.bo[buf].keywordprg = ':JumpseatSetting'
  local group = vim.api.nvim_create_augroup('jumpseat.chat.' .. buf, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  on('BufWinEnter', function() view.window(vim.api.nvim_get_current_win(), buf) end)
  on('BufWritePre', function(args) vim.fn.mkdir(vim.fs.dirname(args.match), 'p') end)
  on({ 'BufUnload', 'BufWipeout' }, function()
    if chat.turn then chat.turn:stop() end
    chats[buf] = nil
    view.forget(buf)
    vim.api.nvim_del_augroup_by_id(group)
  end)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    view.window(win, buf)
  end
  view.update(buf, {})
  require('jumpseat.settings').watch(buf, group)
  event('ChatOpened', { buf = buf })
  return chat
end

---@param buf integer
local function show(buf)
  local win = vim.fn.win_findbuf(buf)[1]
  if win then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd(config.get().window)
    vim.api.nvim_win_set_buf(0, buf)
  end
  view.window(vim.api.nvim_get_current_win(), buf)
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
end

--- Open a chat: a file, a new one, or else the one that was used last.
---@param options? { file?: string, new?: boolean, id?: string } `id` is a kept conversation, for a new chat
---@return integer buf
function M.open(options)
  options = options or {}
  remember_source(vim.api.nvim_get_current_buf())
  local buf
  if options.file then
    buf = vim.fn.bufadd(vim.fn.fnamemodify(options.file, ':p'))
    vim.fn.bufload(buf)
    vim.bo[buf].buflisted = true
  elseif not options.new then
    for _, chat in pairs(chats) do
      local newer = not buf or vim.fn.getbufinfo(chat.buf)[1].lastused >= vim.fn.getbufinfo(buf)[1].lastused
      if newer then buf = chat.buf end
    end
  end
  if buf then
    M.attach(buf)
    show(buf)
    return buf
  end
  buf = vim.api.nvim_create_buf(true, false)
  local name = os.date('%Y-%m-%d-%H%M%S') .. ('-%d.md'):format(count + 1)
  vim.api.nvim_buf_set_name(buf, vim.fs.joinpath(config.get().directory, name))
  local model = config.get().model
  local lines = model and { '---', 'model: ' .. model, '---', '' } or {}
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.list_extend(lines, { '## Me', '', '' }))
  vim.bo[buf].modified = false
  M.attach(buf).id = options.id
  show(buf)
  return buf
end

--- Send the conversation in the buffer.
---@param buf integer
function M.send(buf) require('jumpseat.send').send(M.attach(buf)) end

--- Stop the answer of a chat; what has come so far stays.
---@param buf integer
---@return boolean stopped false if nothing runs
function M.stop(buf)
  local chat = chats[buf]
  if not chat or not (chat.turn or chat.preparing) then return false end
  view.update(buf, { state = 'stopping' })
  chat.stopped = true
  if chat.turn then chat.turn:stop() end
  return true
end

--- The chats that are open.
---@return integer[]
function M.list()
  local buffers = vim.tbl_keys(chats)
  table.sort(buffers)
  return buffers
end

--- Show the progress of a wait that is not for the model, such as loading the local one.
client.on('$/progress', function(params)
  for buf, chat in pairs(chats) do
    if chat.turn and chat.turn.id == params.token then
      local value = params.value
      local text = value.message or value.title
      if text and value.percentage then text = ('%s %d %%'):format(text, value.percentage) end
      view.update(buf, { detail = value.kind ~= 'end' and text or vim.NIL })
    end
  end
end)

return M
