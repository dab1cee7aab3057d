--- Chats: Markdown buffers that contain conversations.
local chats = require('jumpseat.core.chats')
local config = require('jumpseat.core.config')
local create = require('jumpseat.chat.create')
local fire = require('jumpseat.core.event')
local folds = require('jumpseat.display.folds')
local keys = require('jumpseat.input.keys')
local log = require('jumpseat.core.log')
local markdown = require('jumpseat.display.markdown')
local recognize = require('jumpseat.chat.recognize')
local send = require('jumpseat.chat.send')
local settings = require('jumpseat.input.settings')
local tokens = require('jumpseat.input.tokens')
local transcript = require('jumpseat.daemon.transcript')
local view = require('jumpseat.display.view')
local windows = require('jumpseat.display.windows')

local M = {}

--- Set the options of a window that shows a chat. Fold the thinking and the blocks, unless the window has already folded
--- this text.
---@param win integer
local function decorate(win)
  view.set_up_window(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local text = transcript.text(buf)
  local folded = vim.w[win].jumpseat_folded or {}
  -- Skip a chat without an answer: only answers contain thinking, and parsing the text would start the daemon.
  if (folded.buf == buf and folded.tick == tick) or not text:find('\n## [^\n]+\n.*\n## ') then return end
  vim.w[win].jumpseat_folded = { buf = buf, tick = tick }
  transcript.parse(text, function(err, parsed)
    local is_shown = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf
    if not err and is_shown and vim.api.nvim_buf_get_changedtick(buf) == tick then
      folds.fold_all(win, parsed)
    end
  end)
end

--- Fold the thinking and the blocks of a chat in all windows that show it.
---@param buf integer
function M.fold(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    decorate(win)
  end
end

--- Set up a buffer after its text was read, for the first time or again.
---@param buf integer
local function set_up_text(buf)
  markdown.set_up(buf)
  vim.bo[buf].modeline = false
  -- Keep the buffer when another chat takes the window, even with 'nohidden'.
  if vim.bo[buf].bufhidden == '' then vim.bo[buf].bufhidden = 'hide' end
  vim.bo[buf].omnifunc = "v:lua.require'jumpseat.input.complete'.omnifunc"
  vim.bo[buf].keywordprg = ':Jumpseat setting'
  keys.map(buf)
  M.fold(buf)
  view.update(buf, {})
  settings.check(buf)
end

--- Make a buffer a chat.
---@param buf integer
---@return jumpseat.Chat
function M.attach(buf)
  local chat = chats.get(buf)
  if chat then return chat end
  chat = chats.add(buf)
  local group = vim.api.nvim_create_augroup('jumpseat.chat.' .. buf, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  on('BufWinEnter', function() decorate(vim.api.nvim_get_current_win()) end)
  on('BufWritePre', function(args) vim.fn.mkdir(vim.fs.dirname(args.match), 'p') end)
  on('InsertEnter', function()
    require('jumpseat.sources').register()
    create.replace_heading(buf)
  end)
  on({ 'TextChanged', 'InsertLeave' }, function()
    markdown.highlight(buf)
    settings.check_later(buf)
    tokens.count_later(buf)
  end)
  -- Stop the answer before the text disappears or is replaced with the text of the file.
  on({ 'BufReadPre', 'BufUnload' }, function() send.abort(chat) end)
  on('BufReadPost', function() set_up_text(buf) end)
  on('BufWipeout', function()
    chats.remove(buf)
    view.forget(buf)
    vim.api.nvim_del_augroup_by_id(group)
  end)
  set_up_text(buf)
  fire('ChatOpened', { buf = buf })
  return chat
end

--- Return a window of this tab page that shows a chat, preferably the current window.
---@return integer?
local function find_chat_window()
  local candidates = { vim.api.nvim_get_current_win(), unpack(vim.api.nvim_tabpage_list_wins(0)) }
  return vim.iter(candidates):find(
    function(win) return chats.get(vim.api.nvim_win_get_buf(win)) and not vim.wo[win].winfixbuf end
  )
end

--- Show a buffer in a window that already shows it (preferably on this tab page), in another chat's window, or in a new one.
---@param buf integer
local function show(buf)
  local here = vim.fn.bufwinid(buf)
  local win = here ~= -1 and here or vim.fn.win_findbuf(buf)[1] or find_chat_window()
  if win then
    vim.api.nvim_set_current_win(win)
  else
    windows.open(buf, config.get().window, config.get().size)
  end
  vim.api.nvim_win_set_buf(0, buf)
  decorate(vim.api.nvim_get_current_win())
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
end

--- Load the file of a buffer, even if it has a swap file, and ignore modelines.
---@param buf integer
local function load(buf)
  vim.v.errmsg = ''
  local modeline = vim.go.modeline
  vim.go.modeline = false
  -- If there is a swap file, Neovim raises an error. With `silent!`, it reads the file nevertheless.
  vim.cmd(('silent! call bufload(%d)'):format(buf))
  vim.go.modeline = modeline
  if vim.v.errmsg:find('^E325') then
    log.warn('The chat has a swap file: another Neovim has it open, or one crashed (then run :recover).')
  elseif vim.v.errmsg ~= '' then
    log.warn(vim.v.errmsg)
  end
end

---@param buf integer
---@return boolean
local function is_empty(buf) return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), { '' }) end

---@return integer? buf the most recently used chat
local function find_last_used()
  local last, used
  for _, buf in ipairs(chats.list()) do
    local at = vim.fn.getbufinfo(buf)[1].lastused
    if not last or at >= used then
      last, used = buf, at
    end
  end
  return last
end

--- Open a chat: the given buffer or file, or a new chat (if `new` or `lines` is set), or else the most recently used chat. If
--- there is none, open a new chat.
---@param options? { buf?: integer, file?: string, new?: boolean, lines?: string[] }
---@return integer buf
function M.open(options)
  options = options or {}
  chats.remember_source(vim.api.nvim_get_current_buf())
  local buf = options.buf
  if options.file then
    buf = vim.fn.bufadd(vim.fn.fnamemodify(options.file, ':p'))
    load(buf)
    vim.bo[buf].buflisted = true
    if is_empty(buf) then create.write_initial_text(buf) end
  elseif not buf and not options.new and not options.lines then
    buf = find_last_used()
  end
  if not buf then
    buf = create.new_buffer()
    create.write_initial_text(buf, options.lines)
  end
  M.attach(buf)
  show(buf)
  return buf
end

--- Hide the chats of this tab page, or open the last chat if none is shown.
function M.toggle()
  local shown = vim.tbl_filter(
    function(win) return chats.get(vim.api.nvim_win_get_buf(win)) ~= nil end,
    vim.api.nvim_tabpage_list_wins(0)
  )
  if #shown == 0 then return M.open() end
  for _, win in ipairs(shown) do
    windows.close(win, chats.source())
  end
end

--- Close the windows of this tab page that show a chat. The chat stays open in the background.
---@param buf integer
function M.close(buf)
  if not chats.get(buf) then return log.warn('This buffer is not a chat.') end
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then windows.close(win, chats.source()) end
  end
end

--- Show another open chat.
---@param step integer 1 for the next one, -1 for the previous one
function M.cycle(step)
  local buffers = chats.list()
  if #buffers == 0 then return log.notify('No chat is open.') end
  local current = vim.api.nvim_get_current_buf()
  local at = vim.iter(ipairs(buffers)):find(function(_, buf) return buf == current end) or 0
  M.open({ buf = buffers[(at - 1 + step) % #buffers + 1] })
end

--- Whether the buffer may be sent: it is a chat, it begins like one, or the user agrees. A buffer that is not a chat
--- must contain Markdown, because the answer is written into it.
---@param buf integer
---@return boolean
local function confirm_chat(buf)
  if chats.get(buf) then return true end
  if not vim.list_contains(vim.split(vim.bo[buf].filetype, '.', { plain = true }), 'markdown') then
    log.warn('This buffer is not a chat. :Jumpseat opens one, and :Jumpseat ask asks about this buffer.')
    return false
  end
  if recognize.begins_as_chat(buf) then return true end
  return vim.fn.confirm('Send this whole file as a question and write the answer into it?', '&Yes\n&No', 2)
    == 1
end

--- Send the conversation in the buffer.
---@param buf integer
function M.send(buf)
  if not confirm_chat(buf) then return end
  if not vim.bo[buf].modifiable then
    return log.warn("The answer cannot be written into this buffer: 'modifiable' is off.")
  end
  send.send(M.attach(buf))
end

--- Whether an answer is being prepared or written.
---@param buf integer
---@return boolean
function M.is_running(buf)
  local chat = chats.get(buf)
  return chat ~= nil and (chat.turn or chat.preparing) ~= nil
end

--- Stop the answer of a chat. The text received so far stays.
---@param buf integer
---@return boolean stopped false if nothing is running
function M.stop(buf)
  local chat = chats.get(buf)
  return chat ~= nil and send.stop(chat)
end

return M
