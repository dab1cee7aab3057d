--- Parses and renders the text of chat buffers with the daemon.
local client = require('jumpseat.daemon.client')
local wire = require('jumpseat.core.wire')

local M = {}

---@class jumpseat.Parsed
---@field messages { role: 'user'|'assistant', content: table[] }[]
---@field turns jumpseat.Section[]
---@field model string?
---@field system string?
---@field daemonTools string[]? selectors of tools
---@field settings table?
---@field conversationId string?

---@class jumpseat.Section
---@field role 'user'|'assistant'
---@field startLine integer the heading, from 0
---@field endLine integer exclusive
---@field message integer? the index of its message, from 0
---@field thinking { startLine: integer, endLine: integer }[]?

---@param buf integer
---@return string
function M.text(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n' end

---@param text string
---@param callback fun(err: jumpseat.Error?, parsed: jumpseat.Parsed)
function M.parse(text, callback) client.request('transcript/parse', { text = text }, callback) end

--- Render a message as Markdown, without the last line ending. In an answer, blank lines around each text block are removed.
---@param message { role: string, content: table[] }
---@param model string?
---@param callback fun(err: jumpseat.Error?, text: string)
function M.render(message, model, callback)
  local params = { messages = { message }, model = model, trimAnswers = true }
  client.request('transcript/render', params, function(err, result)
    if err then return callback(err, '') end
    -- Remove the front matter, which names the model: only the message is wanted.
    local text = result.text:gsub('^%-%-%-\n.-\n%-%-%-\n+', ''):gsub('\n$', '')
    callback(nil, text)
  end)
end

--- Fetch the headings of questions and answers, which the configuration may rename.
---@param model string?
---@param callback fun(err: jumpseat.Error?, headings: { user: string, assistant: string })
function M.fetch_headings(model, callback)
  local messages = { { role = 'user', content = '-' }, { role = 'assistant', content = '-' } }
  client.request('transcript/render', { messages = messages, model = model }, function(err, result)
    if err then return callback(err, {}) end
    local user, assistant = result.text:match('(## [^\n]+)\n.-\n(## [^\n]+)\n')
    callback(nil, { user = user, assistant = assistant })
  end)
end

--- Return the number of lines of the front matter including its two `---`, or 0 if there is none.
---@param buf integer
---@return integer
function M.front_matter_end(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 200, false)
  if lines[1] ~= '---' then return 0 end
  for number = 2, #lines do
    if lines[number] == '---' then return number end
  end
  return 0
end

--- Return the lines of the front matter including its two `---`.
---@param buf integer
---@return string[]
function M.front_matter(buf) return vim.api.nvim_buf_get_lines(buf, 0, M.front_matter_end(buf), false) end

--- Return the value of a key in the front matter, without parsing it as YAML.
---@param buf integer
---@param key 'conversation'|'model'
---@return string?
function M.find_value(buf, key)
  for _, line in ipairs(M.front_matter(buf)) do
    local value = line:match('^' .. key .. ':%s*["\']?([^%s"\']+)')
    if value then return value end
  end
end

--- Return the section of a message.
---@param parsed jumpseat.Parsed
---@param number integer the message's number, from 1
---@return jumpseat.Section
function M.find_section(parsed, number)
  return assert(vim.iter(parsed.turns):find(function(each) return each.message == number - 1 end))
end

--- Replace the front matter with one that the daemon renders from these values.
---@param buf integer
---@param head { model: string?, system: string?, daemonTools: string[]?, settings: table?, conversationId: string? }
---@param write fun(change: fun()) calls `change`, which changes the buffer
---@param callback fun(err: jumpseat.Error?)
function M.set_front_matter(buf, head, write, callback)
  local params = {
    messages = {},
    model = head.model,
    system = head.system,
    daemonTools = head.daemonTools,
    settings = head.settings and next(head.settings) and head.settings or nil,
    conversationId = head.conversationId,
  }
  client.request('transcript/render', params, function(err, result)
    if err or not vim.api.nvim_buf_is_loaded(buf) then return callback(err) end
    local lines = result.text == '' and {} or vim.split(vim.trim(result.text), '\n', { plain = true })
    write(function()
      local last = M.front_matter_end(buf)
      if last == 0 and #lines > 0 then table.insert(lines, '') end
      vim.api.nvim_buf_set_lines(buf, 0, last, false, lines)
    end)
    callback()
  end)
end

--- Set values in the front matter of a chat, and leave the rest unchanged.
---@param buf integer
---@param changes table<string, any> `vim.NIL` removes a value
---@param callback fun(err: jumpseat.Error?)
function M.set_head(buf, changes, callback)
  if not vim.bo[buf].modifiable then
    return callback(wire.error('request', "The chat cannot be changed: 'modifiable' is off."))
  end
  M.parse(M.text(buf), function(err, parsed)
    if err then return callback(err) end
    local head = {}
    for key, value in pairs(vim.tbl_extend('force', parsed, changes)) do
      head[key] = value ~= vim.NIL and value or nil
    end
    M.set_front_matter(buf, head, function(change) change() end, callback)
  end)
end

return M
