--- Recognizes saved chats by their text.
local config = require('jumpseat.core.config')
local create = require('jumpseat.chat.create')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

--- Whether the front matter has a key that marks a chat.
---@param buf integer
---@return boolean
local function has_chat_front_matter(buf)
  return (transcript.find_value(buf, 'conversation') or transcript.find_value(buf, 'model')) ~= nil
end

--- Return the first line with text below the front matter.
---@param buf integer
---@return string
local function find_first_line(buf)
  local last = transcript.front_matter_end(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, last, last + 200, false)
  return vim.trim(vim.iter(lines):find(function(line) return line:find('%S') ~= nil end) or '')
end

--- Whether a buffer starts like a chat: with the front matter of a chat, or with the heading of a question.
---@param buf integer
---@return boolean
function M.begins_as_chat(buf) return has_chat_front_matter(buf) or find_first_line(buf) == create.HEADING end

--- Whether a buffer contains a saved chat: its text, after any front matter, starts with a heading. In addition, the
--- front matter must be that of a chat, or the file must be in the directory of new chats, because other documents may
--- start with the same heading.
---@param buf integer
---@return boolean
function M.is_saved_chat(buf)
  if vim.bo[buf].buftype ~= '' then return false end
  if not vim.startswith(find_first_line(buf), '## ') then return false end
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
  return has_chat_front_matter(buf) or vim.startswith(name, config.get().directory .. '/')
end

return M
