--- Questions from any buffer, about a piece of it.
local chat = require('jumpseat.chat')
local create = require('jumpseat.create')
local log = require('jumpseat.log')
local region = require('jumpseat.region')
local settings = require('jumpseat.settings')
local transcript = require('jumpseat.transcript')

local M = {}

---@param buf integer the chat
---@param lines string[] the question as it belongs below a heading
local function add_question(buf, lines)
  local count = vim.api.nvim_buf_line_count(buf)
  local last = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  while #last > 0 and last[#last]:match('^%s*$') do
    table.remove(last)
  end
  -- The heading is there already at the end of a chat.
  if last[#last] == lines[1] or last[#last] == create.HEADING then table.remove(last) end
  local text = #last > 0 and vim.list_extend({ '' }, lines) or lines
  vim.api.nvim_buf_set_lines(buf, #last, count, false, text)
end

--- Ask in the last chat. Without a question the piece is put into the chat, to write one.
---@param question string
---@param target jumpseat.Region?
function M.ask(question, target)
  local content = {}
  if target then table.insert(content, region.block(target)) end
  if question ~= '' then table.insert(content, { type = 'text', text = question }) end
  local buf = chat.open()
  if #content == 0 then return end
  -- The question would come into the middle of the answer.
  if chat.is_running(buf) then
    return log.warn('An answer is being written; :JumpseatStop stops it, :Jumpseat! opens another chat.')
  end
  transcript.render({ role = 'user', content = content }, settings.model(buf), function(err, text)
    if err then return log.error(err) end
    if not vim.api.nvim_buf_is_loaded(buf) then return end
    add_question(buf, vim.split(text .. '\n', '\n', { plain = true }))
    local win = vim.fn.win_findbuf(buf)[1]
    if win then vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 }) end
    if question ~= '' then chat.send(buf) end
  end)
end

return M
