--- The palette: the daemon's prompts, and all subcommands of `:Jumpseat`.
local ask = require('jumpseat.chat.ask')
local chats = require('jumpseat.core.chats')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')

local M = {}

--- Return the input that a built-in prompt uses if the user has not selected or written anything.
---@param name string
---@return string reference
local function find_default_input(name) return name == 'commit' and '@diff' or '@buffer' end

--- Use a prompt in the last chat.
---@param name string
---@param input string
---@param target jumpseat.Region?
local function use(name, input, target)
  lists.prompts:get(function(err, result)
    if err then return log.error(err) end
    local prompt = vim.iter(result.prompts):find(function(each) return each.name == name end) or {}
    chats.remember_source(vim.api.nvim_get_current_buf())
    if input == '' and not target and prompt.builtin then
      if not chats.source() then
        return log.warn(('Select the text for /%s, or open its file.'):format(name))
      end
      input = find_default_input(name)
    end
    -- A prompt that lacks its input is not sent: the user adds the input in the chat.
    local is_complete = input ~= '' or target ~= nil or not prompt.usesInput
    ask.ask(vim.trim(('/%s %s'):format(name, input)), target, is_complete)
  end)
end

---@param prompts table[]
---@param subcommands table<string, jumpseat.Subcommand>
---@return { label: string, name: string, is_prompt: boolean }[]
local function list_items(prompts, subcommands)
  local items = {}
  for _, prompt in ipairs(prompts) do
    local about = prompt.description and ' · ' .. prompt.description or ''
    table.insert(items, { label = '/' .. prompt.name .. about, name = prompt.name, is_prompt = true })
  end
  for name, subcommand in vim.spairs(subcommands) do
    if name ~= 'palette' then
      table.insert(items, { label = (':Jumpseat %s · %s'):format(name, subcommand.about), name = name })
    end
  end
  return items
end

--- Use a prompt, or let the user choose one.
---@param words string the prompt's name and input; empty to let the user choose a prompt
---@param target jumpseat.Region?
function M.use_prompt(words, target)
  local name, input = words:match('^/?(%S+)%s*(.-)$')
  if name then return use(name, input, target) end
  M.open(target, {}, function() end)
end

--- Let the user choose a prompt or a subcommand.
---@param target jumpseat.Region?
---@param subcommands table<string, jumpseat.Subcommand>
---@param run fun(name: string)
function M.open(target, subcommands, run)
  lists.prompts:get(function(err, result)
    if err then return log.error(err) end
    local items = list_items(result.prompts, subcommands)
    local options = { prompt = 'jumpseat:', format_item = function(item) return item.label end }
    vim.ui.select(items, options, function(item)
      if not item then return end
      if item.is_prompt then return use(item.name, '', target) end
      run(item.name)
    end)
  end)
end

return M
