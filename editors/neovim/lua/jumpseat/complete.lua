--- Completion in chats: keys and values of the front matter, references, prompts, models.
local config = require('jumpseat.config')
local providers = require('jumpseat.providers')
local references = require('jumpseat.references')
local settings = require('jumpseat.settings')
local transcript = require('jumpseat.transcript')

local M = {}

---@class jumpseat.Completion
---@field word string
---@field menu string? what it is, in a few words
---@field info string?

---@param buf integer
---@return jumpseat.Completion[]
local function keys(buf)
  local items = {}
  for key, text in pairs(settings.KEYS) do
    table.insert(items, { word = key .. ':', menu = text })
  end
  for _, row in ipairs(settings.rows(buf)) do
    table.insert(items, { word = row.key .. ':', menu = settings.rule(row), info = row.description })
  end
  table.sort(items, function(a, b) return a.word < b.word end)
  return items
end

---@param buf integer
---@param key string
---@return jumpseat.Completion[]
local function values(buf, key)
  if key == 'model' then
    return vim.tbl_map(
      function(model) return { word = model.id, menu = require('jumpseat.models').describe(model) } end,
      providers.known_models()
    )
  end
  for _, row in ipairs(settings.rows(buf)) do
    if row.key == key then
      local choices = row.choices or (row.type == 'boolean' and { 'true', 'false' }) or {}
      return vim.tbl_map(
        function(choice) return { word = tostring(choice), menu = row.description } end,
        choices
      )
    end
  end
  return {}
end

---@return jumpseat.Completion[]
local function slashes()
  local items = { { word = '/model', menu = 'choose the model' } }
  for name, text in pairs(config.get().prompts) do
    table.insert(items, { word = '/' .. name, menu = vim.split(text, '\n')[1] })
  end
  return items
end

---@param word string
---@return jumpseat.Completion[]
local function mentions(word)
  local path = word:match('^@file:(.*)$')
  if path then
    return vim.tbl_map(
      function(file) return { word = '@file:' .. file } end,
      vim.fn.getcompletion(path, 'file')
    )
  end
  return vim.tbl_map(function(each) return { word = each } end, references.WORDS)
end

--- The items before the cursor of the current window, and where the word that they replace starts.
---@return integer start column in bytes, from 0; -1 if nothing fits
---@return jumpseat.Completion[] items
function M.at_cursor()
  local buf = vim.api.nvim_get_current_buf()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local before = vim.api.nvim_get_current_line():sub(1, col)
  local items, start
  if row > 1 and row < transcript.front_matter_end(buf) then
    local key, value = before:match('^%s*([%w_]+):%s+(.*)$')
    start = col - #(value or before:match('[%w_]*$'))
    items = key and values(buf, key) or keys(buf)
  else
    local word = (' ' .. before):match('%s([@/]%S*)$')
    if not word then return -1, {} end
    local is_slash = word == before and vim.startswith(word, '/')
    start = col - #word
    items = vim.startswith(word, '@') and mentions(word) or is_slash and slashes() or {}
  end
  local base = before:sub(start + 1)
  return start, vim.tbl_filter(function(item) return vim.startswith(item.word, base) end, items)
end

--- 'omnifunc' of chats.
---@param find 0|1
---@return integer|jumpseat.Completion[]
function M.omnifunc(find)
  local start, items = M.at_cursor()
  if find == 1 then
    M.found = items
    return start
  end
  return M.found or {}
end

return M
