-- Defines commands and maps, and recognizes saved chats. The modules are loaded on first use. There are no default keys.
if vim.g.loaded_jumpseat then return end
vim.g.loaded_jumpseat = true
if vim.fn.has('nvim-0.10') == 0 then
  vim.notify(require('jumpseat.core.config').check_version(), vim.log.levels.WARN)
  return
end

---@param name string
---@param description string
---@param options? vim.api.keyset.user_command
local function define_command(name, description, options)
  options = vim.tbl_extend('force', { desc = 'jumpseat: ' .. description }, options or {})
  vim.api.nvim_create_user_command(
    'Jumpseat' .. name,
    function(args) require('jumpseat.commands').run(name == '' and 'Open' or name, args) end,
    options
  )
end

---@param name string
local function complete_with(name)
  return function(...) return require('jumpseat.commands').complete[name](...) end
end

define_command('', 'open the last chat, with ! a new one, or the chat in a file', {
  nargs = '?',
  bang = true,
  complete = 'file',
})
define_command('Send', 'send the chat')
define_command('Ask', 'ask a question, about the range if there is one', { nargs = '*', range = true })
define_command('Edit', 'rewrite the range', { nargs = '*', range = true })
define_command('Accept', 'apply the rewritten text')
define_command('Reject', 'discard the rewritten text')
define_command('Again', 'rewrite again, with another instruction if one is given', { nargs = '*' })
define_command('Stop', 'stop the answer or the edit in this buffer')
define_command('Model', 'choose a model', { nargs = '?', complete = complete_with('models') })
define_command('Login', 'sign in', { nargs = '?', complete = complete_with('sign_ins') })
define_command('Logout', 'sign out', { nargs = '?', complete = complete_with('sign_ins') })
define_command('Status', 'show providers, accounts and the daemon')
define_command('Log', 'show the logs')
define_command(
  'History',
  'pick a kept conversation; with !, only of this directory',
  { nargs = '*', bang = true }
)
define_command('Yank', 'yank the code block under the cursor, or the last one')
define_command('Insert', 'insert that code block at the cursor of the last other buffer')
define_command('Setting', 'explain a setting of the front matter', { nargs = '?' })
define_command('Install', 'install the daemon for this plug-in', { bang = true })

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWinEnter' }, {
  group = vim.api.nvim_create_augroup('jumpseat.recognize', {}),
  callback = function(args)
    local first = vim.api.nvim_buf_call(
      args.buf,
      function() return vim.fn.getline(vim.fn.nextnonblank(1)) end
    )
    if first ~= '---' and not vim.startswith(first, '## ') then return end
    local recognize = require('jumpseat.chat.recognize')
    if args.event == 'BufReadPost' then
      -- Neovim applies modelines after this event, and those of a chat may have been written by the model.
      if recognize.begins_as_chat(args.buf) then vim.bo[args.buf].modeline = false end
    elseif recognize.is_saved_chat(args.buf) then
      require('jumpseat.chat').attach(args.buf)
    end
  end,
})

for name, keys in pairs({
  open = 'Jumpseat',
  send = 'JumpseatSend',
  stop = 'JumpseatStop',
  accept = 'JumpseatAccept',
  reject = 'JumpseatReject',
  again = 'JumpseatAgain',
  model = 'JumpseatModel',
  history = 'JumpseatHistory',
  yank = 'JumpseatYank',
  insert = 'JumpseatInsert',
}) do
  vim.keymap.set('n', ('<Plug>(jumpseat-%s)'):format(name), ('<Cmd>%s<CR>'):format(keys))
end
vim.keymap.set('n', '<Plug>(jumpseat-ask)', '<Cmd>JumpseatAsk<CR>')
-- A colon ends Visual mode, which sets the marks of the selection.
vim.keymap.set('x', '<Plug>(jumpseat-ask)', ':JumpseatAsk<CR>', { silent = true })
vim.keymap.set('x', '<Plug>(jumpseat-edit)', ':JumpseatEdit<CR>', { silent = true })
