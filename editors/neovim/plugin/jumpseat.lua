-- Defines commands and maps, and recognizes saved chats. The modules are loaded on first use. Keys are mapped only in chats
-- and during reviews.
if vim.g.loaded_jumpseat then return end
vim.g.loaded_jumpseat = true
if vim.fn.has('nvim-0.10') == 0 then
  vim.notify(require('jumpseat.core.config').check_version(), vim.log.levels.WARN)
  return
end

vim.api.nvim_create_user_command('Jumpseat', function(args) require('jumpseat.commands').dispatch(args) end, {
  desc = 'jumpseat: open the last chat, or run a subcommand',
  nargs = '*',
  bang = true,
  range = true,
  complete = function(lead, line) return require('jumpseat.commands').complete(lead, line) end,
})

-- The commands of earlier releases: each runs the subcommand with the same name.
for alias, options in pairs({
  Send = {},
  Ask = { nargs = '*', range = true },
  Edit = { nargs = '*', range = true },
  Accept = {},
  Reject = {},
  Again = { nargs = '*' },
  Stop = {},
  Model = { nargs = '?' },
  Login = { nargs = '?' },
  Logout = { nargs = '?' },
  Status = {},
  Log = {},
  History = { nargs = '*', bang = true },
  Yank = {},
  Insert = {},
  Setting = { nargs = '?' },
  Install = { bang = true },
}) do
  local subcommand = alias:lower()
  options.desc = 'jumpseat: same as :Jumpseat ' .. subcommand
  if options.nargs == '?' then
    options.complete = function(lead) return require('jumpseat.commands').complete_alias(alias, lead) end
  end
  vim.api.nvim_create_user_command(
    'Jumpseat' .. alias,
    function(args) require('jumpseat.commands').run(subcommand, args) end,
    options
  )
end

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

for _, name in ipairs({
  'open',
  'toggle',
  'send',
  'stop',
  'ask',
  'prompt',
  'palette',
  'accept',
  'reject',
  'accept-hunk',
  'reject-hunk',
  'next-hunk',
  'previous-hunk',
  'again',
  'next-turn',
  'previous-turn',
  'regenerate',
  'next-variant',
  'previous-variant',
  'next',
  'previous',
  'close',
  'keys',
  'model',
  'tools',
  'approve',
  'history',
  'title',
  'yank',
  'apply',
  'insert',
}) do
  vim.keymap.set('n', ('<Plug>(jumpseat-%s)'):format(name), ('<Cmd>Jumpseat %s<CR>'):format(name))
end
-- A colon ends Visual mode, which sets the marks of the selection.
for _, name in ipairs({ 'ask', 'prompt', 'palette', 'edit', 'edit-before', 'edit-after', 'edit-new' }) do
  vim.keymap.set(
    'x',
    ('<Plug>(jumpseat-%s)'):format(name),
    (':Jumpseat %s<CR>'):format(name),
    { silent = true }
  )
end
