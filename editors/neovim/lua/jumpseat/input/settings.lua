--- The front matter of a chat: the daemon checks it, and the settings schema explains it.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')
local region = require('jumpseat.core.region')
local transcript = require('jumpseat.daemon.transcript')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.settings')
local CHECK_MS = 300

--- The keys of the front matter that are not settings.
M.KEYS = {
  model = 'The model, as provider:model.',
  system = 'The system prompt.',
  tools = 'The tools that the model may use: selectors such as files/*.',
  settings = 'Settings of the provider.',
  conversation = 'The kept conversation that the chat continues.',
}

--- Return the rows of the settings schema that apply to a chat.
---@param buf integer
---@return table[]
function M.rows(buf)
  local provider = lists.find_provider(transcript.find_value(buf, 'model'))
  return provider and provider.settingsSchema or {}
end

--- Show the model of the front matter in the window bar, unless the bar already shows that model with its provider.
---@param buf integer
local function show_model(buf)
  local model, shown = transcript.find_value(buf, 'model'), view.status(buf).model
  if model and not (shown and vim.endswith(shown, ':' .. model)) then view.update(buf, { model = model }) end
end

--- Check the front matter of a chat with the daemon.
---@param buf integer
function M.check(buf)
  show_model(buf)
  local lines = transcript.front_matter(buf)
  -- The daemon does not check a text without a question, so add one.
  local text = table.concat(lines, '\n') .. '\n\n-\n'
  if #lines == 0 then return vim.diagnostic.reset(namespace, buf) end
  client.request('transcript/check', { text = text }, function(err, result)
    if
      err
      or not vim.api.nvim_buf_is_loaded(buf)
      or not vim.deep_equal(transcript.front_matter(buf), lines)
    then
      return
    end
    vim.diagnostic.set(
      namespace,
      buf,
      vim.tbl_map(function(each)
        local first, last = each.range.start, each.range['end']
        return {
          lnum = first.line,
          col = region.column(lines[first.line + 1] or '', first.character),
          end_lnum = last.line,
          end_col = region.column(lines[last.line + 1] or '', last.character),
          severity = each.severity,
          message = each.message,
          code = each.code,
          source = 'jumpseat',
        }
      end, result.diagnostics)
    )
  end)
end

---@type table<integer, { text: string, serial: integer }> by buffer: the last checked text, and the number of the last change
local checked = {}

--- Check the front matter of a chat after a pause, if it differs from the last front matter that was checked.
---@param buf integer
function M.check_later(buf)
  local last = checked[buf] or { text = '', serial = 0 }
  checked[buf] = last
  last.serial = last.serial + 1
  local serial = last.serial
  vim.defer_fn(function()
    if serial ~= last.serial or not vim.api.nvim_buf_is_loaded(buf) then return end
    local text = table.concat(transcript.front_matter(buf), '\n')
    if text == last.text then return end
    last.text = text
    M.check(buf)
  end, CHECK_MS)
end

-- Check again when a provider's list of models has arrived: until then, the daemon cannot check the model.
client.on('models/didChange', function() vim.iter(chats.list()):each(M.check) end)

--- Describe the values that a settings row allows.
---@param row table
---@return string
function M.describe_values(row)
  local parts = { row.type }
  if row.choices then table.insert(parts, table.concat(vim.tbl_map(tostring, row.choices), ', ')) end
  if row.minimum then table.insert(parts, ('at least %g'):format(row.minimum)) end
  if row.maximum then table.insert(parts, ('at most %g'):format(row.maximum)) end
  if row.default ~= nil then table.insert(parts, 'default ' .. tostring(row.default)) end
  return table.concat(parts, ', ')
end

--- Explain a key of the front matter. `K` calls this with the word at the cursor, which may be a value.
---@param word string the key, or any word in the line of the key; empty for the word at the cursor
function M.describe(word)
  local buf = vim.api.nvim_get_current_buf()
  if word == '' then word = vim.fn.expand('<cword>') end
  local keys = { word, vim.api.nvim_get_current_line():match('^%s*([%w_]+):') }
  lists.providers:get(function(err)
    if err then return log.error(err) end
    local rows = M.rows(buf)
    for _, key in ipairs(keys) do
      local row = vim.iter(rows):find(function(each) return each.key == key end)
      if row then
        local lines = { ('**%s** (%s)'):format(key, M.describe_values(row)), '', row.description }
        return vim.lsp.util.open_floating_preview(lines, 'markdown', { focus_id = 'jumpseat' })
      end
      if M.KEYS[key] then return log.notify(M.KEYS[key]) end
    end
    log.notify(word .. ' is not a setting of this provider.')
  end)
end

return M
