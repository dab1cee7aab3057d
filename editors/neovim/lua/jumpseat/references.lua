--- What `@buffer`, `@selection`, `@file:PATH` and `@diagnostics` in a question stand for, and `/prompt`.
local config = require('jumpseat.config')
local region = require('jumpseat.region')
local transcript = require('jumpseat.transcript')
local wire = require('jumpseat.wire')

local M = {}

--- The words that are completed.
M.WORDS = { '@buffer', '@selection', '@diagnostics', '@file:' }

---@param buf integer
---@return table block
local function of_diagnostics(buf)
  local lines = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    local severity = vim.diagnostic.severity[each.severity]
    table.insert(lines, ('%d:%d: %s: %s'):format(each.lnum + 1, each.col + 1, severity, each.message))
  end
  local text = #lines > 0 and table.concat(lines, '\n') .. '\n' or 'none\n'
  return { type = 'context', text = text, uri = region.uri(buf), label = 'diagnostics' }
end

---@param path string
---@return table? block
local function of_file(path)
  path = vim.fs.normalize(path)
  local file = io.open(path, 'rb')
  if not file then return end
  local text = file:read('*a')
  file:close()
  local language = vim.filetype.match({ filename = path })
  local uri = vim.uri_from_fname(vim.fn.fnamemodify(path, ':p'))
  return text and { type = 'context', text = text:gsub('\r', ''), uri = uri, languageId = language }
end

--- The block that a reference stands for.
---@param word string
---@param buf integer? the buffer that the question is about
---@return table? block
---@return string? reason why there is none
local function block_of(word, buf)
  local path = word:match('^@file:(.+)$')
  if path then
    local block = of_file(path)
    return block, not block and ('The file %s cannot be read.'):format(path) or nil
  end
  if not buf then return nil, ('%s: no file is open beside the chat.'):format(word) end
  if word == '@buffer' then return region.block(region.whole(buf)) end
  if word == '@diagnostics' then return of_diagnostics(buf) end
  local selection = region.last_selection(buf)
  if not selection then return nil, '@selection: nothing was selected in the last buffer.' end
  return region.block(selection)
end

---@param word string
---@return boolean
local function is_reference(word) return vim.list_contains(M.WORDS, word) or word:find('^@file:.') ~= nil end

--- The blocks of the references in a text.
---@param text string
---@return table[]? blocks
---@return string? reason
local function blocks_of(text)
  local blocks = {}
  for word in (' ' .. text):gmatch('%s(@[^%s]+)') do
    word = word:gsub('[,;?!]+$', '')
    if is_reference(word) then
      local block, reason = block_of(word, require('jumpseat.chat').source())
      if not block then return nil, reason end
      table.insert(blocks, block)
    end
  end
  return blocks
end

---@param text string
---@return string
local function with_prompt(text)
  return (text:gsub('^/([%w_-]+)', function(name) return config.get().prompts[name] end))
end

---@param content table[]
---@param wanted table
---@return boolean
local function has(content, wanted)
  return vim.iter(content):any(
    function(each)
      return each.type == 'context'
        and each.uri == wanted.uri
        and each.label == wanted.label
        and each.text == wanted.text
    end
  )
end

--- Put what the references of the last question stand for into the question, in the buffer too: the chat is then
--- complete, and stays what was sent.
---@param buf integer
---@param parsed jumpseat.Parsed
---@param callback fun(err: jumpseat.Error?)
function M.expand(buf, parsed, callback)
  local message = parsed.messages[#parsed.messages]
  local content, changed = {}, false
  for _, block in ipairs(message.content) do
    if block.type == 'text' then
      local text = with_prompt(block.text)
      local found, reason = blocks_of(text)
      if not found then return callback(wire.error('request', reason or '')) end
      changed = changed or text ~= block.text
      for _, each in ipairs(found) do
        -- A question that is sent again has its blocks already.
        if not has(message.content, each) then
          table.insert(content, each)
          changed = true
        end
      end
      table.insert(content, vim.tbl_extend('force', block, { text = text }))
    else
      table.insert(content, block)
    end
  end
  if not changed then return callback() end
  message.content = content
  transcript.render(message, parsed.model, function(err, text)
    if err or not vim.api.nvim_buf_is_loaded(buf) then return callback(err) end
    for _, turn in ipairs(parsed.turns) do
      if turn.message == #parsed.messages - 1 then
        local lines = vim.split(text .. '\n', '\n', { plain = true })
        vim.api.nvim_buf_set_lines(buf, turn.startLine, turn.endLine, false, lines)
      end
    end
    callback()
  end)
end

return M
