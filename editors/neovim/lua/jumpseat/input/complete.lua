--- Completion in chats, for 'omnifunc' and for the sources of completion plug-ins: keys and values of the front matter,
--- references, prompts and models.
local contexts = require('jumpseat.input.contexts')
local files = require('jumpseat.input.files')
local lists = require('jumpseat.daemon.lists')
local models = require('jumpseat.input.models')
local settings = require('jumpseat.input.settings')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

---@class jumpseat.Completion
---@field word string
---@field menu string? a short description
---@field info string?
---@field unquoted string? the form that is compared with the text before the cursor; default: `word`

---@class jumpseat.CompletionPlace
---@field start integer where the word before the cursor starts, in bytes from 0
---@field base string the word, up to the cursor
---@field list jumpseat.List? the list that the items come from; it is fetched before `items` is called
---@field items fun(): jumpseat.Completion[]

---@param buf integer
---@return jumpseat.Completion[]
local function list_keys(buf)
  local items = {}
  for key, text in pairs(settings.KEYS) do
    table.insert(items, { word = key .. ':', menu = text })
  end
  for _, row in ipairs(settings.rows(buf)) do
    table.insert(
      items,
      { word = row.key .. ':', menu = settings.describe_values(row), info = row.description }
    )
  end
  table.sort(items, function(a, b) return a.word < b.word end)
  return items
end

---@return jumpseat.Completion[]
local function list_models()
  return vim.tbl_map(
    function(model) return { word = model.id, menu = models.describe(model) } end,
    lists.models:get_cached()
  )
end

---@return jumpseat.Completion[]
local function list_tools()
  return vim.tbl_map(function(selector) return { word = selector } end, lists.list_selectors())
end

---@param buf integer
---@param key string
---@return jumpseat.Completion[]
local function list_values(buf, key)
  local row = vim.iter(settings.rows(buf)):find(function(each) return each.key == key end) or {}
  local choices = row.choices or (row.type == 'boolean' and { 'true', 'false' }) or {}
  return vim.tbl_map(function(choice) return { word = tostring(choice), menu = row.description } end, choices)
end

---@return jumpseat.Completion[]
local function list_prompts()
  local items = { { word = '/model', menu = 'Choose the model.' } }
  for _, prompt in ipairs(lists.prompts:get_cached()) do
    table.insert(items, { word = '/' .. prompt.name, menu = prompt.description })
  end
  return items
end

--- Return a reference to a file. It is quoted if the path contains white space or the user has typed a quote. For a
--- directory, the quote stays open.
---@param file string
---@param has_quote boolean
---@return jumpseat.Completion
local function format_reference(file, has_quote)
  local unquoted = '@file:' .. file
  if not has_quote and not file:find('%s') then return { word = unquoted } end
  local closing = vim.endswith(file, '/') and '' or '"'
  return { word = ('@file:"%s%s'):format(file, closing), unquoted = unquoted }
end

---@param word string
---@return jumpseat.Completion[]
local function list_references(word)
  local quote, path = word:match('^@file:("?)(.*)$')
  local kind = word:match('^@(%l+):')
  if not path and kind then
    return vim.tbl_map(
      function(name) return { word = ('@%s:%s'):format(kind, name) } end,
      contexts.list_arguments(kind)
    )
  end
  if not path then return contexts.WORDS end
  local directory = path:find('^[/~$]') and '' or files.directory()
  return vim.tbl_map(
    function(file) return format_reference(file:sub(#directory + 1), quote ~= '') end,
    vim.fn.getcompletion(directory .. path, 'file')
  )
end

--- Return the place to complete before the cursor of the current window.
---@return jumpseat.CompletionPlace?
local function find_place()
  local buf = vim.api.nvim_get_current_buf()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local before = vim.api.nvim_get_current_line():sub(1, col)
  ---@param base string
  ---@param list jumpseat.List?
  ---@param items fun(): jumpseat.Completion[]
  local function place_at(base, list, items)
    return { start = col - #base, base = base, list = list, items = items }
  end
  if row > 1 and row < transcript.front_matter_end(buf) then
    local key, value = before:match('^%s*([%w_]+):%s+(.*)$')
    if key == 'model' then return place_at(value, lists.models, list_models) end
    local selector = key == 'tools' and value:match('[^,%[%s]*$') or before:match('^%s*%- (%S*)$')
    if selector then return place_at(selector, lists.tools, list_tools) end
    if key then
      return place_at(value, lists.providers, function() return list_values(buf, key) end)
    end
    return place_at(before:match('[%w_]*$'), lists.providers, function() return list_keys(buf) end)
  end
  local model = before:match('^/model%s+(%S*)$')
  if model then return place_at(model, lists.models, list_models) end
  local word = (' ' .. before):match('%s(@file:"[^"]*)$') or (' ' .. before):match('%s([@/]%S*)$')
  if not word then return end
  if vim.startswith(word, '@') then
    return place_at(word, nil, function() return list_references(word) end)
  end
  if word == before then return place_at(word, lists.prompts, list_prompts) end
end

---@param at jumpseat.CompletionPlace
---@return jumpseat.Completion[]
local function list_items(at)
  local unquoted = at.base:gsub('^@file:"', '@file:')
  return vim.tbl_filter(
    function(item) return vim.startswith(item.unquoted or item.word, unquoted) end,
    at.items()
  )
end

--- Find the items at the cursor and the start of the word that they replace. The callback may run before this returns.
---@param callback fun(items: jumpseat.Completion[], start: integer) `start` is a column in bytes, from 0
function M.request(callback)
  local at = find_place()
  if not at then return callback({}, 0) end
  local function answer() callback(list_items(at), at.start) end
  if not at.list then return answer() end
  at.list:get(answer)
end

--- Find the items in the form of the Language Server Protocol, for completion plug-ins, but with columns in bytes.
---@param callback fun(items: table[])
function M.request_lsp(callback)
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  M.request(function(items, start)
    local range =
      { start = { line = row - 1, character = start }, ['end'] = { line = row - 1, character = col } }
    callback(vim.tbl_map(
      function(item)
        return {
          label = item.word,
          filterText = item.unquoted,
          kind = vim.lsp.protocol.CompletionItemKind.Keyword,
          detail = item.menu,
          documentation = item.info,
          textEdit = { newText = item.word, range = range },
        }
      end,
      items
    ))
  end)
end

--- The 'omnifunc' of chats. If the items must be requested, the menu opens when the daemon has answered.
---@param find 0|1 1 to return the start of the word that is completed, 0 to return the items
---@return integer|jumpseat.Completion[]
function M.omnifunc(find)
  if find == 0 then return M.found or {} end
  local at = find_place()
  if not at then return -3 end -- leaves the completion mode without a message
  if not at.list or at.list:is_cached() then
    M.found = list_items(at)
    return at.start
  end
  local cursor = vim.api.nvim_win_get_cursor(0)
  M.request(function(items, start)
    local is_still_there = vim.deep_equal(cursor, vim.api.nvim_win_get_cursor(0))
    if is_still_there and vim.startswith(vim.api.nvim_get_mode().mode, 'i') then
      vim.fn.complete(start + 1, items)
    end
  end)
  return -2 -- stays in the completion mode, until `complete()` opens the menu
end

return M
