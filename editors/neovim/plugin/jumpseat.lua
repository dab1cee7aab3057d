-- Only commands and maps: the modules are loaded when one is used. No default keys.
if vim.g.loaded_jumpseat or vim.fn.has('nvim-0.10') == 0 then return end
vim.g.loaded_jumpseat = true

---@param name string
---@param description string
---@param options? vim.api.keyset.user_command
local function command(name, description, options)
  options = vim.tbl_extend('force', { desc = 'jumpseat: ' .. description }, options or {})
  vim.api.nvim_create_user_command(
    'Jumpseat' .. name,
    function(args) require('jumpseat.commands')[name == '' and 'Open' or name](args) end,
    options
  )
end

command('', 'open the last chat; with ! a new one, with a file that chat', {
  nargs = '?',
  bang = true,
  complete = 'file',
})
command('Send', 'send the chat')
command('Ask', 'ask, about the range if there is one', { nargs = '*', range = true })
command('Stop', 'stop the answer of this buffer')

for name, keys in pairs({
  open = 'Jumpseat',
  send = 'JumpseatSend',
  stop = 'JumpseatStop',
}) do
  vim.keymap.set('n', ('<Plug>(jumpseat-%s)'):format(name), ('<Cmd>%s<CR>'):format(keys))
end
vim.keymap.set('n', '<Plug>(jumpseat-ask)', '<Cmd>JumpseatAsk<CR>')
-- A colon ends Visual mode, which sets the marks of the selection.
vim.keymap.set('x', '<Plug>(jumpseat-ask)', ':JumpseatAsk<CR>', { silent = true })
