--- The keys of chats and of reviews. Each runs a subcommand of `:Jumpseat`.
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
  { command = 'apply', about = 'show the code block as a diff in its file', keys = { 'gp' } },
  { command = 'insert', about = 'insert the code block into the last file', keys = { 'gI' } },
  { command = 'model', about = 'choose the model', keys = { 'ga' } },
  { command = 'tools', about = 'select the tools', keys = { 'gs' } },
  { command = 'approve', about = 'show the call that waits for an approval', keys = { 'gA' } },
  { command = 'close', about = 'close the chat', keys = { '<C-c>' } },
  { command = 'keys', about = 'show these keys', keys = { '?' } },
}

--- The keys of a buffer in which an edit or a code block is reviewed.
---@type jumpseat.Key[] in the order of the help
M.REVIEW_KEYS = {
  { command = 'accept-hunk', about = 'accept the hunk', keys = { 'ga' } },
  { command = 'reject-hunk', about = 'reject the hunk', keys = { 'gr' } },
  { command = 'accept', about = 'accept all hunks', keys = { 'gA' } },
  { command = 'reject', about = 'reject all hunks', keys = { 'gR' } },
  { command = 'next-hunk', about = 'go to the next hunk', keys = { ']c' } },
  { command = 'previous-hunk', about = 'go to the previous hunk', keys = { '[c' } },
}

--- Return the keys of a subcommand: those that the user has chosen, or else the default keys.
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

--- Map the keys of a review in a buffer.
---@param buf integer
---@return fun() unmap removes these mappings, and restores the mappings that they replaced
function M.map_review(buf)
  local mapped, hidden = {}, {}
  for _, each in ipairs(M.REVIEW_KEYS) do
    for _, key in ipairs((find_keys(each))) do
      local old = vim.api.nvim_buf_call(buf, function() return vim.fn.maparg(key, 'n', false, true) end)
      if old.buffer == 1 then table.insert(hidden, old) end
      table.insert(mapped, key)
      vim.keymap.set(
        'n',
        key,
        ('<Cmd>Jumpseat %s<CR>'):format(each.command),
        { buffer = buf, nowait = true, desc = 'jumpseat: ' .. each.about }
      )
    end
  end
  return function()
    for _, key in ipairs(mapped) do
      pcall(vim.keymap.del, 'n', key, { buffer = buf })
    end
    vim.api.nvim_buf_call(buf, function()
      for _, map in ipairs(hidden) do
        vim.fn.mapset('n', false, map)
      end
    end)
  end
end

--- Describe the current hunk of a review, and the first key of each action that accepts or rejects hunks. In a narrow
--- window, the less important parts are left out.
---@param number integer
---@param count integer
---@param width integer the columns that are free
---@return string
function M.describe_review(number, count, width)
  local function describe(commands, head)
    local parts = { head }
    for _, each in ipairs(M.REVIEW_KEYS) do
      local key = find_keys(each)[1]
      if key and commands[each.command] then table.insert(parts, key .. ' ' .. commands[each.command]) end
    end
    return table.concat(parts, ' · ')
  end
  local short = { ['accept-hunk'] = 'accept', ['reject-hunk'] = 'reject' }
  if count == 1 then return describe(short) end
  local long = vim.tbl_extend('error', short, { accept = 'accept all', reject = 'reject all' })
  local head = ('hunk %d of %d'):format(number, count)
  local texts = { describe(long, head), describe(short, head), describe(short), head }
  return vim.iter(texts):find(function(text) return vim.fn.strdisplaywidth(text) <= width end) or head
end

--- Show the keys of chats and of reviews.
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
  local chat_rows = #rows
  for _, each in ipairs(M.REVIEW_KEYS) do
    add(find_keys(each), each.about)
  end
  local lines = vim.tbl_map(function(row) return ('%-' .. width .. 's  %s'):format(row[1], row[2]) end, rows)
  if #lines > chat_rows then
    table.insert(lines, chat_rows + 1, '')
    table.insert(lines, chat_rows + 2, 'While a file is reviewed:')
  end
  if #lines == 0 then lines = { 'The option keys is false.' } end
  vim.list_extend(lines, { '', ':help jumpseat-commands lists all commands.' })
  float.open(lines, { title = 'Keys in a chat' })
end

return M
