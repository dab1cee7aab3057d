--- The text of a chat buffer, read and written by the daemon.
local client = require('jumpseat.client')

local M = {}

---@class jumpseat.Parsed
---@field messages { role: 'user'|'assistant', content: table[] }[]
---@field turns { role: string, startLine: integer, endLine: integer, message: integer? }[]
---@field model string?
---@field system string?
---@field settings table?

---@param buf integer
---@return string
function M.text(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n' end

---@param text string
---@param callback fun(err: jumpseat.Error?, parsed: jumpseat.Parsed)
function M.parse(text, callback) client.request('transcript/parse', { text = text }, callback) end

--- The Markdown of a message, without its last line end.
---@param message { role: string, content: table[] }
---@param model string?
---@param callback fun(err: jumpseat.Error?, text: string)
function M.render(message, model, callback)
  client.request('transcript/render', { messages = { message }, model = model }, function(err, result)
    if err then return callback(err, '') end
    -- The front matter names the model; only the message is wanted.
    local text = result.text:gsub('^%-%-%-\n.-\n%-%-%-\n+', ''):gsub('\n$', '')
    callback(nil, text)
  end)
end

--- The headings of both roles, which the configuration may rename.
---@param model string?
---@param callback fun(err: jumpseat.Error?, headings: { user: string, assistant: string })
function M.headings(model, callback)
  local messages = { { role = 'user', content = '-' }, { role = 'assistant', content = '-' } }
  client.request('transcript/render', { messages = messages, model = model }, function(err, result)
    if err then return callback(err, {}) end
    local user, assistant = result.text:match('(## [^\n]+)\n.-\n(## [^\n]+)\n')
    callback(nil, { user = user, assistant = assistant })
  end)
end

--- The lines of the front matter with its two `---`; 0 if there is none.
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

--- Write front matter with these values over the one that is there.
---@param buf integer
---@param head { model: string?, system: string?, settings: table? }
---@param callback fun(err: jumpseat.Error?, lines: string[])
function M.front_matter(buf, head, callback)
  local settings = head.settings and next(head.settings) and head.settings or nil
  local params = { messages = {}, model = head.model, system = head.system, settings = settings }
  client.request('transcript/render', params, function(err, result)
    if err then return callback(err, {}) end
    if not vim.api.nvim_buf_is_loaded(buf) then return end
    callback(nil, vim.split(vim.trim(result.text), '\n', { plain = true }))
  end)
end

--- Name the model in the front matter of a chat; everything else in it stays.
---@param buf integer
---@param model string
---@param callback? fun()
function M.set_model(buf, model, callback)
  local before = M.text(buf)
  M.parse(before, function(err, parsed)
    if err then return require('jumpseat.log').error(err) end
    M.front_matter(buf, vim.tbl_extend('force', {}, parsed, { model = model }), function(failure, lines)
      if failure then return require('jumpseat.log').error(failure) end
      local count = M.front_matter_end(buf)
      if count == 0 then table.insert(lines, '') end
      vim.api.nvim_buf_set_lines(buf, 0, count, false, lines)
      if callback then callback() end
    end)
  end)
end

return M
