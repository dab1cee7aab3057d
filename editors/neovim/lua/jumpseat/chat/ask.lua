--- Questions about any buffer, or a region of it.
local chat = require('jumpseat.chat')
local chats = require('jumpseat.core.chats')
local create = require('jumpseat.chat.create')
local log = require('jumpseat.core.log')
local region = require('jumpseat.core.region')
local send = require('jumpseat.chat.send')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.ask')

---@class jumpseat.Draft a question in a chat, shown until the daemon has rendered it as a section of the transcript
---@field buf integer
---@field mark integer the extmark that spans the question
---@field lines string[]
---@field tick integer `changedtick` after the insertion

---@param buf integer
---@param line integer from 1
---@return integer row the last line with text, at or above `line`; from 1
---@return string text
local function find_last_text(buf, line)
  local row = region.find_last_line(buf, line)
  return row, vim.fn.getbufoneline(buf, row)
end

--- Move the cursor to the last line in every window that shows the chat.
---@param buf integer
local function go_to_end(buf)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
  end
end

--- Return the lines that show a question before the daemon has rendered it.
---@param question string
---@param target jumpseat.Region?
---@return string[]
local function format_draft(question, target)
  local lines = {}
  if target then
    local text, fence = region.text(target), '```'
    while text:find(fence, 1, true) do
      fence = fence .. '`'
    end
    table.insert(lines, fence .. vim.bo[target.buf].filetype)
    vim.list_extend(lines, vim.split((text:gsub('\n$', '')), '\n', { plain = true }))
    vim.list_extend(lines, { fence, '' })
  end
  return vim.list_extend(lines, vim.split(question, '\n', { plain = true }))
end

--- Insert a question at the end of a chat.
---@param this jumpseat.Chat
---@param lines string[]
---@return jumpseat.Draft
local function add_draft(this, lines)
  local buf = this.buf
  if this.turn then
    -- Do not replace the blank lines at the end: they belong to the answer.
    vim.api.nvim_buf_set_lines(buf, -1, -1, false, vim.list_extend({ '' }, lines))
  else
    local row, text = find_last_text(buf, vim.api.nvim_buf_line_count(buf))
    local gap = vim.startswith(text, '## ') and { '' } or { '', create.HEADING, '' }
    vim.api.nvim_buf_set_lines(buf, row, -1, false, vim.list_extend(gap, lines))
  end
  local last = vim.api.nvim_buf_line_count(buf)
  local mark = vim.api.nvim_buf_set_extmark(
    buf,
    namespace,
    last - #lines,
    0,
    { end_row = last - 1, end_col = #lines[#lines] }
  )
  go_to_end(buf)
  return { buf = buf, mark = mark, lines = lines, tick = vim.api.nvim_buf_get_changedtick(buf) }
end

--- Replace a draft with the section that the daemon rendered, unless the user has edited the draft.
---@param draft jumpseat.Draft
---@param section string[]
local function replace_draft(draft, section)
  local buf = draft.buf
  local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, draft.mark, { details = true })
  vim.api.nvim_buf_del_extmark(buf, namespace, draft.mark)
  local first, last = at[1], at[3].end_row + 1
  if not vim.deep_equal(vim.api.nvim_buf_get_lines(buf, first, last, false), draft.lines) then return end
  local row, heading = find_last_text(buf, first)
  if heading == section[1] or heading == create.HEADING then
    first = row - 1
  else
    -- The answer above is still being written. When it ends, the heading of the question and a blank line are added below
    -- it, so leave out these two lines of the section.
    section = vim.list_slice(section, 3)
  end
  if vim.api.nvim_buf_get_changedtick(buf) == draft.tick then
    vim.api.nvim_buf_call(buf, function() pcall(vim.cmd.undojoin) end)
  end
  vim.api.nvim_buf_set_lines(buf, first, last, false, section)
  go_to_end(buf)
end

---@class jumpseat.Question
---@field content table[] the blocks that are sent to the daemon
---@field lines string[] the lines shown until the daemon has rendered the question
---@field is_complete boolean whether it can be sent without further editing

---@param this jumpseat.Chat
---@param question jumpseat.Question
local function add_question(this, question)
  local buf = this.buf
  if not vim.api.nvim_buf_is_loaded(buf) then return end
  local is_answering = this.turn ~= nil
  local draft = add_draft(this, question.lines)
  local function write(text)
    replace_draft(draft, vim.split(text .. '\n', '\n', { plain = true }))
    if is_answering then return end
    send.reset(this)
    if question.is_complete then chat.send(buf) end
  end
  local function on_rendered(err, text)
    if err then return log.error(err) end
    if vim.api.nvim_buf_is_loaded(buf) then write(text) end
  end
  if is_answering then
    log.notify('An answer is being written. The question is below it: :Jumpseat send sends it afterwards.')
  else
    on_rendered = send.prepare(this)(write)
  end
  transcript.render(
    { role = 'user', content = question.content },
    transcript.find_value(buf, 'model'),
    on_rendered
  )
end

--- Ask a question in the last chat, below any answer that is still being written there. If the question is empty, insert
--- only the region, so that the user can write a question about it.
---@param question string
---@param target jumpseat.Region?
---@param is_complete? boolean whether to send the question; default: if it is not empty
function M.ask(question, target, is_complete)
  local content = {}
  if target then table.insert(content, region.block(target)) end
  if question ~= '' then table.insert(content, { type = 'text', text = question }) end
  local lines = format_draft(question, target)
  local this = assert(chats.get(chat.open()))
  if #content == 0 then return end
  if not vim.bo[this.buf].modifiable then
    return log.warn("The question cannot be written into the chat: 'modifiable' is off.")
  end
  if is_complete == nil then is_complete = question ~= '' end
  local asked = { content = content, lines = lines, is_complete = is_complete }
  send.run_when_prepared(this, function() add_question(this, asked) end)
end

return M
