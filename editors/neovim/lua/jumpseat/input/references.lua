--- Expands `/PROMPT` and references such as `@buffer` in a question.
local client = require('jumpseat.daemon.client')
local contexts = require('jumpseat.input.contexts')
local files = require('jumpseat.input.files')
local folds = require('jumpseat.display.folds')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')
local region = require('jumpseat.core.region')
local transcript = require('jumpseat.daemon.transcript')
local wire = require('jumpseat.core.wire')

local M = {}

local PIN = '@pin:'

--- Return the words of a text that start with `@`, without trailing punctuation and without the quotes of paths.
---@param text string
---@return string[]
local function find_words(text)
  local words, at = {}, 1
  text = ' ' .. text
  while true do
    local _, finish, word = text:find('%s(@%S+)', at)
    if not finish then return words end
    local start = finish - #word + 1
    local lead, path = text:match('^(@[pin:]*file:)"([^"\n]+)"', start)
    if path then
      word, finish = lead .. path, start + #lead + #path + 1
    else
      local file = word:match('^@[pin:]*file:(.+)$')
      -- Remove punctuation, which may end the sentence, unless it is part of the name of a file that exists.
      if not file or not vim.uv.fs_stat(files.to_absolute(file)) then word = word:gsub('[%.,;:?!)]+$', '') end
    end
    table.insert(words, word)
    at = finish + 1
  end
end

--- Read references one after the other.
---@param words string[]
---@param skips_unreadable boolean whether to leave out a reference that cannot be read, instead of failing
---@param callback jumpseat.ContextCallback
---@param read? fun(word: string, callback: jumpseat.ContextCallback) default: `contexts.read`
local function read_all(words, skips_unreadable, callback, read)
  local blocks = {}
  local function read_from(number)
    if number > #words then return callback(nil, blocks) end
    (read or contexts.read)(words[number], function(reason, found)
      if reason and not skips_unreadable then return callback(reason) end
      vim.list_extend(blocks, found or {})
      read_from(number + 1)
    end)
  end
  read_from(1)
end

--- Read the diffs that the input of a prompt refers to, and replace each reference with the label of its block. If the
--- references stayed, a question that is sent again would contain each diff twice: once shortened by the daemon, once whole.
---@param input string
---@param callback fun(reason: string?, input: string?, blocks: table[]?)
local function read_diffs(input, callback)
  local words = contexts.select_diffs(find_words(input))
  read_all(words, false, function(reason, blocks)
    if reason then return callback(reason) end
    for number, word in ipairs(words) do
      input = (' ' .. input):gsub('(%s)' .. word .. '%f[^%w]', '%1' .. blocks[number].label):sub(2)
    end
    callback(nil, input, blocks)
  end, contexts.read_diff)
end

--- Request a prompt with its input. If the prompt takes a diff, the daemon shortens the diffs in the input to fit the model.
---@param name string
---@param input string
---@param model string?
---@param callback fun(err: jumpseat.Error?, prompt: table?)
local function get_prompt(name, input, model, callback)
  local function request(text, blocks)
    local context = #blocks > 0 and blocks or nil
    local params = { name = name, input = text, context = context, model = model }
    client.request('prompts/get', params, function(err, prompt)
      for _, warning in ipairs(prompt and prompt.warnings or {}) do
        log.warn(warning.message)
      end
      callback(err, prompt)
    end)
  end
  lists.prompts:get(function(err, result)
    if err then return callback(err) end
    local row = vim.iter(result.prompts):find(function(each) return each.name == name end)
    if not row or not row.takesDiff then return request(input, {}) end
    read_diffs(input, function(reason, text, blocks)
      if reason then return callback(wire.error('request', reason)) end
      request(text, blocks)
    end)
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

--- Return the references in the text of a message. `@pin:buffer` counts as `@buffer` and is also returned as pinned.
---@param message { role: string, content: table[] }
---@return string[] words without `pin:`
---@return string[] pinned
local function find_references(message)
  local words, pinned = {}, {}
  for _, block in ipairs(message.content) do
    for _, word in ipairs(block.type == 'text' and find_words(block.text) or {}) do
      local is_pinned = vim.startswith(word, PIN)
      local plain = is_pinned and '@' .. word:sub(#PIN + 1) or word
      if contexts.is_reference(plain) then
        table.insert(words, plain)
        if is_pinned then table.insert(pinned, plain) end
      end
    end
  end
  return words, pinned
end

--- Return the last block in the messages that has the same type, URI and label as `wanted`.
---@param messages { role: string, content: table[] }[]
---@param wanted table
---@return table?
local function find_last_block(messages, wanted)
  local found
  for _, message in ipairs(messages) do
    for _, block in ipairs(message.content) do
      if block.type == wanted.type and block.uri == wanted.uri and block.label == wanted.label then
        found = block
      end
    end
  end
  return found
end

--- Insert blocks in front of the text of a question. Skip blocks that the question already has, for example
--- because it is sent again.
---@param message { role: string, content: table[] }
---@param blocks table[]
---@return boolean changed
local function insert_blocks(message, blocks)
  local at = 1
  while message.content[at] and message.content[at].type ~= 'text' do
    at = at + 1
  end
  local changed = false
  for _, block in ipairs(blocks) do
    if not has_block(message.content, block) then
      table.insert(message.content, at, block)
      at, changed = at + 1, true
    end
  end
  return changed
end

--- If the last question starts with `/NAME`, replace the question in `parsed` with the text of that prompt. The prompt's
--- model, system prompt and settings also apply, unless the front matter sets its own.
---@param parsed jumpseat.Parsed
---@param callback fun(err: jumpseat.Error?, changed: boolean?)
local function expand_prompt(parsed, callback)
  local message = parsed.messages[#parsed.messages]
  local block = vim.iter(message.content):find(function(each) return each.type == 'text' end)
  local text = block and block.text .. '\n' or ''
  local name, input = text:match('^/([%w._-]+)%s+(.-)\n?$')
  if not name then return callback(nil, false) end
  get_prompt(name, input, parsed.model, function(err, prompt)
    if err then return callback(err) end
    block.text = prompt.text
    insert_blocks(message, prompt.context or {})
    parsed.model = parsed.model or prompt.model
    parsed.system = parsed.system or prompt.system
    parsed.settings = vim.tbl_extend('keep', parsed.settings or {}, prompt.settings or {})
    callback(nil, true)
  end)
end

--- Read the references of the last question, and the references that earlier questions have pinned. Add the blocks to the
--- last question. Skip a pinned block that has not changed since it was last added.
---@param messages { role: string, content: table[] }[]
---@param callback fun(reason: string?, changed: boolean)
local function add_contexts(messages, callback)
  local message = messages[#messages]
  local words, pinned = find_references(message), {}
  for number = 1, #messages - 1 do
    if messages[number].role == 'user' then
      vim.list_extend(pinned, (select(2, find_references(messages[number]))))
    end
  end
  read_all(words, false, function(reason, blocks)
    if reason then return callback(reason, false) end
    -- Skip a pinned buffer or file that can no longer be read.
    read_all(pinned, true, function(_, again)
      for _, block in ipairs(again or {}) do
        local last = find_last_block(messages, block)
        if not last or last.text ~= block.text or last.source ~= block.source then
          table.insert(blocks, block)
        end
      end
      callback(nil, insert_blocks(message, blocks))
    end)
  end)
end

--- Expand the last question's references in `messages`, but not in the buffer, so that the tokens can be counted. Web pages
--- (`@url:`) are left out, because they are fetched only when the question is sent.
---@param messages { role: string, content: table[] }[]
---@param callback fun()
function M.preview(messages, callback)
  local message = messages[#messages]
  local words = vim.tbl_filter(
    function(word) return not vim.startswith(word, '@url:') end,
    (find_references(message))
  )
  read_all(words, false, function(_, blocks)
    insert_blocks(message, blocks or {})
    callback()
  end)
end

--- Write the last question into the buffer as the daemon renders it.
---@param buf integer
---@param parsed jumpseat.Parsed
---@param write fun(change: fun()) calls `change`, which changes the buffer
---@param callback fun(err: jumpseat.Error?)
local function write_question(buf, parsed, write, callback)
  transcript.render(parsed.messages[#parsed.messages], parsed.model, function(failure, text)
    if failure or not vim.api.nvim_buf_is_loaded(buf) then return callback(failure) end
    local section = transcript.find_section(parsed, #parsed.messages)
    local lines = vim.split(text .. '\n', '\n', { plain = true })
    local at_end = vim.tbl_filter(
      function(win) return vim.api.nvim_win_get_cursor(win)[1] >= region.find_last_line(buf, section.endLine) end,
      vim.fn.win_findbuf(buf)
    )
    write(function() vim.api.nvim_buf_set_lines(buf, section.startLine, section.endLine, false, lines) end)
    for _, win in ipairs(at_end) do
      vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
    end
    folds.fold_blocks(buf, section.startLine, section.startLine + #lines)
    callback()
  end)
end

---@class jumpseat.Instruction
---@field text string
---@field context table[] the blocks of its references
---@field model string?
---@field system string?
---@field settings table?

--- Expand the prompt and the references of an instruction outside of chats. If the instruction has neither, the callback
--- runs before this function returns.
---@param text string
---@param callback fun(err: jumpseat.Error?, expanded: jumpseat.Instruction?)
function M.expand_instruction(text, callback)
  local message = { role = 'user', content = { { type = 'text', text = text } } }
  local parsed = { messages = { message }, turns = {} }
  expand_prompt(parsed, function(err)
    if err then return callback(err) end
    add_contexts(parsed.messages, function(reason)
      if reason then return callback(wire.error('request', reason)) end
      local context = vim.list_slice(message.content, 1, #message.content - 1)
      local last = message.content[#message.content]
      local settings = next(parsed.settings or {}) and parsed.settings or nil
      callback(nil, {
        text = last.text,
        context = context,
        model = parsed.model,
        system = parsed.system,
        settings = settings,
      })
    end)
  end)
end

--- Expand the prompt and the references of the last question in `parsed` and in the buffer, so that the buffer matches what is
--- sent.
---@param buf integer
---@param parsed jumpseat.Parsed
---@param write fun(change: fun()) calls `change`, which changes the buffer
---@param callback fun(err: jumpseat.Error?)
function M.expand(buf, parsed, write, callback)
  expand_prompt(parsed, function(err, has_prompt)
    if err then return callback(err) end
    add_contexts(parsed.messages, function(reason, has_blocks)
      if reason then return callback(wire.error('request', reason)) end
      if not has_prompt and not has_blocks then return callback() end
      write_question(buf, parsed, write, function(failure)
        if failure or not has_prompt then return callback(failure) end
        transcript.set_front_matter(buf, parsed, write, callback)
      end)
    end)
  end)
end

return M
