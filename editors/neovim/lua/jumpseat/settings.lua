--- The front matter of a chat: checked by the daemon, and explained from the settings schema.
local client = require('jumpseat.client')
local log = require('jumpseat.log')
local providers = require('jumpseat.providers')
local transcript = require('jumpseat.transcript')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.settings')
local CHECK_MS = 300

--- Keys of the front matter that are no settings.
M.KEYS = {
  model = 'The model, as provider:model.',
  system = 'The system prompt.',
  settings = 'Settings of the provider.',
}

---@param buf integer
---@return string[]
local function front_matter(buf)
  return vim.api.nvim_buf_get_lines(buf, 0, transcript.front_matter_end(buf), false)
end

--- The model that the front matter names.
---@param buf integer
---@return string?
function M.model(buf)
  for _, line in ipairs(front_matter(buf)) do
    local model = line:match('^model:%s*["\']?([^%s"\']+)')
    if model then return model end
  end
end

--- The rows of the settings schema for a chat.
---@param buf integer
---@return table[]
function M.rows(buf)
  local provider = providers.of(M.model(buf))
  return provider and provider.settingsSchema or {}
end

---@param buf integer
---@param err jumpseat.Error?
local function report(buf, err)
  if not vim.api.nvim_buf_is_loaded(buf) then return end
  local lines = front_matter(buf)
  local diagnostics = {}
  local function add(lnum, message)
    local severity = vim.diagnostic.severity.ERROR
    table.insert(
      diagnostics,
      { lnum = lnum, col = 0, message = message, severity = severity, source = 'jumpseat' }
    )
  end
  for _, each in ipairs(err and err.data and err.data.errors or {}) do
    local key = each.path:match('^settings%.([^.]+)') or each.path
    local lnum = tonumber(each.message:match('line (%d+)')) or 1
    for number, line in ipairs(lines) do
      if vim.startswith(vim.trim(line), key .. ':') then lnum = number end
    end
    add(lnum - 1, key .. ': ' .. each.message)
  end
  if err and #diagnostics == 0 and err.data and err.data.kind == 'request' then add(0, err.message) end
  vim.diagnostic.set(namespace, buf, diagnostics)
end

--- Let the daemon check the front matter. It makes no chat: tokens are counted for one letter.
---@param buf integer
function M.check(buf)
  local lines = front_matter(buf)
  if #lines == 0 then return report(buf) end
  local text = table.concat(lines, '\n') .. '\n'
  transcript.parse(text, function(err, parsed)
    if err then return report(buf, err) end
    client.request('chat/countTokens', {
      messages = { { role = 'user', content = '-' } },
      model = parsed.model,
      settings = parsed.settings,
    }, function(failure)
      if table.concat(front_matter(buf), '\n') .. '\n' ~= text then return end
      report(buf, failure)
    end)
  end)
end

---@type table<integer, { text: string, serial: integer }> by buffer: what was checked, and the last change
local checked = {}

--- Check the front matter of a chat that changed, if it is not the one that was checked last.
---@param buf integer
function M.check_later(buf)
  local last = checked[buf] or { text = '', serial = 0 }
  checked[buf] = last
  last.serial = last.serial + 1
  local serial = last.serial
  vim.defer_fn(function()
    if serial ~= last.serial or not vim.api.nvim_buf_is_loaded(buf) then return end
    local text = table.concat(front_matter(buf), '\n')
    if text == last.text then return end
    last.text = text
    M.check(buf)
  end, CHECK_MS)
end

--- The rule of a row in words.
---@param row table
---@return string
function M.rule(row)
  local parts = { row.type }
  if row.choices then table.insert(parts, table.concat(vim.tbl_map(tostring, row.choices), ', ')) end
  if row.minimum then table.insert(parts, ('at least %g'):format(row.minimum)) end
  if row.maximum then table.insert(parts, ('at most %g'):format(row.maximum)) end
  if row.default ~= nil then table.insert(parts, 'default ' .. tostring(row.default)) end
  return table.concat(parts, ', ')
end

--- Show what a key of the front matter means. `K` calls this.
---@param key string
function M.describe(key)
  local buf = vim.api.nvim_get_current_buf()
  if key == '' then key = vim.fn.expand('<cword>') end
  providers.list(function(err)
    if err then return log.error(err) end
    for _, row in ipairs(M.rows(buf)) do
      if row.key == key then
        local lines = { ('**%s** (%s)'):format(row.key, M.rule(row)), '', row.description }
        return vim.lsp.util.open_floating_preview(lines, 'markdown', { focus_id = 'jumpseat' })
      end
    end
    log.notify(M.KEYS[key] or (key .. ' is not a setting of this provider.'))
  end)
end

return M
