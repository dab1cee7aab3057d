--- The keys of chats. Each runs a subcommand of `:Jumpseat`.
local config = require('jumpseat.core.config')
local float = require('jumpseat.display.float')

local M = {}

---@class jumpseat.Key
---@field command string the subcommand
---@field about string
---@field keys string[] the default keys in Normal mode
---@field insert string[]? the default keys in Insert mode

---@type jumpseat.Key[] in the order of the help
M.KEYS = {
  { command = 'send', about = 'send the question', keys = { '<CR>', '<C-s>' }, insert = { '<C-s>' } },
  { command = 'stop', about = 'stop the answer', keys = { 'q' } },
  { command = 'regenerate', about = 'ask the question at the cursor again', keys = { 'gr' } },
  { command = 'next-variant', about = 'show the next variant', keys = { ']v' } },
  { command = 'previous-variant', about = 'show the previous variant', keys = { '[v' } },
  { command = 'next-turn', about = 'go to the next turn', keys = { ']]' } },
  { command = 'previous-turn', about = 'go to the previous turn', keys = { '[[' } },
  { command = 'next', about = 'show the next chat', keys = { '}' } },
  { command = 'previous', about = 'show the previous chat', keys = { '{' } },
  { command = 'yank', about = 'copy the code block', keys = { 'gy' } },
  { command = 'insert', about = 'insert the code block into the last file', keys = { 'gI' } },
  { command = 'model', about = 'choose the model', keys = { 'ga' } },
  { command = 'tools', about = 'select the tools', keys = { 'gs' } },
  { command = 'approve', about = 'show the call that waits for an approval', keys = { 'gA' } },
  { command = 'close', about = 'close the chat', keys = { '<C-c>' } },
  { command = 'keys', about = 'show these keys', keys = { '?' } },
}

--- Return the keys of a subcommand that the user wants.
---@param each jumpseat.Key
---@return string[] normal
---@return string[] insert
local function find_keys(each)
  local chosen = config.get().keys
  if chosen == false then return {}, {} end
  local own = (chosen or {})[each.command]
  if own == nil then return each.keys, each.insert or {} end
  return own and (type(own) == 'string' and { own } or own) or {}, {}
end

--- Map the keys in the buffer of a chat.
---@param buf integer
function M.map(buf)
  for _, each in ipairs(M.KEYS) do
    local normal, insert = find_keys(each)
    local options = { buffer = buf, nowait = true, desc = 'jumpseat: ' .. each.about }
    for _, key in ipairs(normal) do
      vim.keymap.set('n', key, ('<Cmd>Jumpseat %s<CR>'):format(each.command), options)
    end
    for _, key in ipairs(insert) do
      vim.keymap.set('i', key, ('<Esc><Cmd>Jumpseat %s<CR>'):format(each.command), options)
    end
  end
end

--- Show the keys of chats.
function M.show()
  local rows, width = {}, 0
  local function add(keys, about)
    if #keys == 0 then return end
    local text = table.concat(keys, ' ')
    width = math.max(width, #text)
    table.insert(rows, { text, about })
  end
  for _, each in ipairs(M.KEYS) do
    local normal, insert = find_keys(each)
    add(normal, each.about)
    add(insert, each.about .. ', in Insert mode')
  end
  local lines = vim.tbl_map(function(row) return ('%-' .. width .. 's  %s'):format(row[1], row[2]) end, rows)
  if #lines == 0 then lines = { 'The option keys is false.' } end
  vim.list_extend(lines, { '', ':help jumpseat-commands lists all commands.' })
  float.open(lines, { title = 'Keys in a chat' })
end

return M
