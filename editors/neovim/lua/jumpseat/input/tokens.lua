--- Counts the tokens that the question in a chat would send, and shows the number in the window bar.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local references = require('jumpseat.input.references')
local transcript = require('jumpseat.daemon.transcript')
local view = require('jumpseat.display.view')

local M = {}

--- The pause in writing after which the tokens are counted.
local PAUSE_MS = 700

---@type table<integer, integer> by buffer: the number of the last change
local changes = {}

---@param buf integer
---@return boolean
local function is_idle(buf)
  local chat = chats.get(buf)
  return chat ~= nil and vim.api.nvim_buf_is_loaded(buf) and not chat.turn and not chat.preparing
end

---@param buf integer
---@param is_current fun(): boolean whether the chat is idle and has not changed since the count was scheduled
local function count(buf, is_current)
  transcript.parse(transcript.text(buf), function(err, parsed)
    if err or not is_current() then return end
    local last = parsed.messages[#parsed.messages]
    if not last or last.role ~= 'user' then return view.update(buf, { tokens = vim.NIL }) end
    references.preview(parsed.messages, function()
      local params = {
        messages = parsed.messages,
        system = parsed.system,
        model = parsed.model,
        settings = parsed.settings,
        workspaceRules = config.get().rules,
      }
      client.request('chat/countTokens', params, function(failure, result)
        if is_current() then view.update(buf, { tokens = not failure and result or vim.NIL }) end
      end)
    end)
  end)
end

--- Count the tokens of a chat when the user pauses. This does not start the daemon.
---@param buf integer
function M.count_later(buf)
  local number = (changes[buf] or 0) + 1
  changes[buf] = number
  local function is_current() return changes[buf] == number and is_idle(buf) end
  vim.defer_fn(function()
    if is_current() and client.is_started() then count(buf, is_current) end
  end, PAUSE_MS)
end

return M
