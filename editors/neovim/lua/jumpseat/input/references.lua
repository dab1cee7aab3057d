--- Expands `@buffer`, `@selection`, `@file:PATH`, `@diagnostics` and `/PROMPT` in a question.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local folds = require('jumpseat.display.folds')
local region = require('jumpseat.core.region')
local transcript = require('jumpseat.daemon.transcript')
local wire = require('jumpseat.core.wire')

local M = {}

--- The references that completion offers.
---@type jumpseat.Completion[]
M.WORDS = {
  { word = '@buffer', menu = 'The last buffer that is not a chat.' },
  { word = '@selection', menu = 'The last selection in that buffer.' },
  { word = '@diagnostics', menu = 'The diagnostics of that buffer.' },
  { word = '@file:', menu = 'A file.' },
}

---@param buf integer
---@return table block
local function build_diagnostics_block(buf)
  local lines = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    local severity = vim.diagnostic.severity[each.severity]
    table.insert(lines, ('%d:%d: %s: %s'):format(each.lnum + 1, each.col + 1, severity, each.message))
  end
  local text = #lines > 0 and table.concat(lines, '\n') .. '\n' or 'none\n'
  return { type = 'context', text = text, uri = region.uri(buf), label = 'diagnostics' }
end

--- Patterns for the first bytes of the image types that models accept.
local IMAGES = {
  { '^\137PNG\r\n', 'image/png' },
  { '^\255\216\255', 'image/jpeg' },
  { '^GIF8', 'image/gif' },
  { '^RIFF....WEBP', 'image/webp' },
}

--- Return the directory of relative paths with a slash, or an empty string for the current directory. 'autochdir' makes
--- the chat's directory the current one, so paths are then relative to the file that the question is about.
---@return string
function M.directory()
  local source = vim.o.autochdir and chats.source()
  local name = source and vim.api.nvim_buf_get_name(source) or ''
  return name ~= '' and vim.fs.dirname(name) .. '/' or ''
end

---@param path string
---@return string
local function to_absolute(path)
  path = vim.fs.normalize(path)
  if not path:find('^/') and not path:find('^%a:') then path = M.directory() .. path end
  return vim.fn.fnamemodify(path, ':p')
end

---@param buf integer
---@param name string
---@return table? block
---@return string? reason why there is none
local function build_buffer_block(buf, name)
  local reason = region.check_size(name, region.size_of_buffer(buf))
  if reason then return nil, reason end
  return region.block(region.whole(buf))
end

---@param path string
---@param name string the whole path
---@return string? text nil if there is none
---@return string? media_type the type of an image
---@return string? reason why the file is not read
local function read_file(path, name)
  local file = io.open(name, 'rb')
  if not file then return end
  -- This is nil for a directory too, whose size is meaningless.
  local head = file:read(16)
  local image = vim.iter(IMAGES):find(function(each) return head and head:find(each[1]) ~= nil end)
  local reason = head and not image and region.check_size(path, file:seek('end')) or nil
  file:seek('set')
  local text = not reason and file:read('*a') or nil
  file:close()
  return text, image and image[2], reason
end

--- Return a file's text from its buffer, or else from disk. The daemon decides whether a model accepts an image.
---@param path string
---@return table? block
---@return string? reason why there is none
local function build_file_block(path)
  local name = to_absolute(path)
  local text, media_type, reason = read_file(path, name)
  if reason then return nil, reason end
  if text and media_type then
    return { type = 'image', source = vim.base64.encode(text), mediaType = media_type }
  end
  if text and text:find('\0', 1, true) then
    return nil, ('The file %s is neither text nor an image (PNG, JPEG, GIF or WebP).'):format(path)
  end
  local buf = vim.iter(vim.api.nvim_list_bufs()):find(
    function(each) return vim.api.nvim_buf_is_loaded(each) and vim.api.nvim_buf_get_name(each) == name end
  )
  if buf then return build_buffer_block(buf, path) end
  if not text then return nil, ('The file %s cannot be read.'):format(path) end
  local language = vim.filetype.match({ filename = name })
  local uri = vim.uri_from_fname(name)
  return { type = 'context', text = text:gsub('\r', ''), uri = uri, languageId = language }
end

--- Return the block for a reference.
---@param word string
---@param buf integer? the buffer that the question is about
---@return table? block
---@return string? reason why there is none
local function build_block(word, buf)
  local path = word:match('^@file:(.+)$')
  if path then return build_file_block(path) end
  if not buf then return nil, ('%s: no file is open beside the chat.'):format(word) end
  if word == '@buffer' then return build_buffer_block(buf, word) end
  if word == '@diagnostics' then return build_diagnostics_block(buf) end
  local selection = region.last_selection(buf)
  if not selection then return nil, '@selection: nothing was selected in the last buffer.' end
  local reason = region.check_size(word, region.size(selection))
  if reason then return nil, reason end
  return region.block(selection)
end

---@param word string
---@return boolean
local function is_reference(word)
  if word:find('^@file:.') then return true end
  return vim.iter(M.WORDS):any(function(each) return each.word == word end)
end

--- Return the words of a text that start with `@`, without trailing punctuation.
---@param text string
---@return string[]
local function find_words(text)
  local words, at = {}, 1
  text = ' ' .. text
  while true do
    local _, finish, word = text:find('%s(@%S+)', at)
    if not finish then return words end
    local path = text:match('^@file:"([^"\n]+)"', finish - #word + 1)
    if path then
      word, finish = '@file:' .. path, finish - #word + #'@file:""' + #path
    else
      local file = word:match('^@file:(.+)$')
      -- The punctuation may be the end of a sentence.
      if not file or not vim.uv.fs_stat(to_absolute(file)) then word = word:gsub('[%.,;:?!)]+$', '') end
    end
    table.insert(words, word)
    at = finish + 1
  end
end

--- Return the blocks for the references in a text.
---@param text string
---@return table[]? blocks
---@return string? reason
local function build_blocks(text)
  local blocks = {}
  for _, word in ipairs(find_words(text)) do
    if is_reference(word) then
      local block, reason = build_block(word, chats.source())
      if not block then return nil, reason end
      table.insert(blocks, block)
    end
  end
  return blocks
end

--- If the question starts with `/NAME`, replace it with the text of that prompt, and add the prompt's model, system prompt
--- and settings to the front matter.
---@param parsed jumpseat.Parsed
---@param callback fun(err: jumpseat.Error?, changed: boolean?)
local function expand_prompt(parsed, callback)
  local message = parsed.messages[#parsed.messages]
  local block = vim.iter(message.content):find(function(each) return each.type == 'text' end)
  local text = block and block.text .. '\n' or ''
  local name, input = text:match('^/([%w._-]+)%s+(.-)\n?$')
  if not name then return callback(nil, false) end
  client.request('prompts/get', { name = name, input = input }, function(err, prompt)
    if err then return callback(err) end
    block.text = prompt.text
    parsed.model = parsed.model or prompt.model
    parsed.system = parsed.system or prompt.system
    parsed.settings = vim.tbl_extend('keep', parsed.settings or {}, prompt.settings or {})
    callback(nil, true)
  end)
end

---@param content table[]
---@param wanted table
---@return boolean
local function has_block(content, wanted)
  return vim.iter(content):any(
    function(each)
      return each.type == wanted.type
        and each.source == wanted.source
        and each.uri == wanted.uri
        and each.label == wanted.label
        and each.text == wanted.text
    end
  )
end

--- Insert the blocks of its references into a question.
---@param message { role: string, content: table[] }
---@return string? reason why that is impossible
---@return boolean changed
local function insert_blocks(message)
  local content, changed = {}, false
  for _, block in ipairs(message.content) do
    if block.type == 'text' then
      local found, reason = build_blocks(block.text)
      if not found then return reason, false end
      for _, each in ipairs(found) do
        -- A question that is sent again already contains its blocks.
        if not has_block(message.content, each) then
          table.insert(content, each)
          changed = true
        end
      end
    end
    table.insert(content, block)
  end
  message.content = content
  return nil, changed
end

--- Expand the prompt and the references of the last question, in the buffer too, so that the chat is complete and matches
--- what was sent.
---@param buf integer
---@param parsed jumpseat.Parsed
---@param write fun(change: fun()) makes a change of the buffer
---@param callback fun(err: jumpseat.Error?)
function M.expand(buf, parsed, write, callback)
  local message = parsed.messages[#parsed.messages]
  expand_prompt(parsed, function(err, has_prompt)
    if err then return callback(err) end
    local reason, has_blocks = insert_blocks(message)
    if reason then return callback(wire.error('request', reason)) end
    if not has_prompt and not has_blocks then return callback() end
    transcript.render(message, parsed.model, function(failure, text)
      if failure or not vim.api.nvim_buf_is_loaded(buf) then return callback(failure) end
      local section = transcript.find_section(parsed, #parsed.messages)
      local lines = vim.split(text .. '\n', '\n', { plain = true })
      local at_end = vim.tbl_filter(
        function(win)
          return vim.api.nvim_win_get_cursor(win)[1] >= region.find_last_line(buf, section.endLine)
        end,
        vim.fn.win_findbuf(buf)
      )
      write(function() vim.api.nvim_buf_set_lines(buf, section.startLine, section.endLine, false, lines) end)
      for _, win in ipairs(at_end) do
        vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
      end
      folds.fold_blocks(buf, section.startLine, section.startLine + #lines)
      if not has_prompt then return callback() end
      transcript.set_front_matter(buf, parsed, write, callback)
    end)
  end)
end

return M
