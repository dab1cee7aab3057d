--- Recognizes saved chats by their text.
local config = require('jumpseat.core.config')
local create = require('jumpseat.chat.create')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

--- Describe how a text begins.
---@param buf integer
---@return boolean has_head whether there is front matter with the keys of chats
---@return string first the first line with text below the front matter
local function beginning(buf)
  local last = transcript.front_matter_end(buf)
  local has_head = vim.iter(vim.api.nvim_buf_get_lines(buf, 0, last, false)):any(
    function(line) return line:find('^conversation: ') ~= nil or line:find('^model: ') ~= nil end
  )
  local lines = vim.api.nvim_buf_get_lines(buf, last, last + 200, false)
  local first = vim.iter(lines):find(function(line) return line:find('%S') ~= nil end)
  return has_head, first and vim.trim(first) or ''
end

--- Whether a text begins as chats do: with their front matter, or with the heading of a question.
---@param buf integer
---@return boolean
function M.begins_as_chat(buf)
  local has_head, first = beginning(buf)
  return has_head or first == create.HEADING
end

--- Whether a text is a saved chat. A heading alone is not enough outside the directory of new chats: other documents have
--- it too, and so do other tools have front matter with a model.
---@param buf integer
---@return boolean
function M.is_saved_chat(buf)
  if vim.bo[buf].buftype ~= '' then return false end
  local has_head, first = beginning(buf)
  if not vim.startswith(first, '## ') then return false end
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
  return has_head or vim.startswith(name, config.get().directory .. '/')
end

return M
