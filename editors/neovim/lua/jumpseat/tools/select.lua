--- Selects the tools of a chat. The front matter contains the selection.
local chats = require('jumpseat.core.chats')
local checklist = require('jumpseat.display.checklist')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

local DECISIONS = { allow = 'allowed', ask = 'needs approval', deny = 'denied' }

---@param selector string
---@param name string `server/tool`
---@return boolean
local function matches(selector, name)
  return name:find('^' .. vim.pesc(selector):gsub('%%%*', '.*') .. '$') ~= nil
end

---@class jumpseat.Choice
---@field names string[] `server/tool` of each tool that the line stands for
---@field line string

--- Return the lines of the window: each server, and its tools below it.
---@param result { tools: table[], servers: table[] }
---@return jumpseat.Choice[]
local function list_choices(result)
  local choices = {}
  for _, server in ipairs(result.servers) do
    local tools = vim.tbl_filter(function(tool) return tool.server == server.name end, result.tools)
    local names = vim.tbl_map(function(tool) return server.name .. '/' .. tool.tool end, tools)
    local state = server.state ~= 'running' and ' · ' .. server.state:gsub('_', ' ') or ''
    local problem = server.error and ': ' .. server.error or ''
    table.insert(choices, { names = names, line = server.name .. state .. problem })
    for number, tool in ipairs(tools) do
      local about = (tool.title or vim.split(tool.description, '\n')[1])
      local line = ('  %s · %s · %d tokens · %s'):format(
        tool.tool,
        DECISIONS[tool.decision],
        tool.tokens,
        about
      )
      table.insert(choices, { names = { names[number] }, line = line })
    end
  end
  return choices
end

--- Return the fewest selectors that select exactly these tools.
---@param selected table<string, boolean>
---@param choices jumpseat.Choice[]
---@return string[]
local function to_selectors(selected, choices)
  local selectors, covered = {}, {}
  -- A server's line comes before the lines of its tools, so a server that is selected as a whole covers its tools.
  for _, choice in ipairs(choices) do
    local is_whole = #choice.names > 0
      and vim.iter(choice.names):all(function(name) return selected[name] end)
    if is_whole and not covered[choice.names[1]] then
      -- Only the lines of tools are indented.
      local is_server = not vim.startswith(choice.line, '  ')
      table.insert(selectors, is_server and choice.names[1]:match('^[^/]+') .. '/*' or choice.names[1])
      for _, name in ipairs(choice.names) do
        covered[name] = true
      end
    end
  end
  return selectors
end

---@param choices jumpseat.Choice[]
---@param selected table<string, boolean>
---@return string[]
local function format_choices(choices, selected)
  return vim.tbl_map(function(choice)
    local count = #vim.tbl_filter(function(name) return selected[name] end, choice.names)
    local mark = count == 0 and ' ' or count == #choice.names and 'x' or '-'
    return ('[%s] %s'):format(mark, choice.line)
  end, choices)
end

---@param buf integer
---@param selectors string[]
local function use(buf, selectors)
  transcript.set_head(buf, { daemonTools = #selectors > 0 and selectors or vim.NIL }, function(err)
    if err then log.error(err) end
  end)
end

--- Show the tools in a window where the user selects them.
---@param buf integer
---@param result table
---@param selectors string[] the chat's selectors
local function show(buf, result, selectors)
  local choices, selected = list_choices(result), {}
  for _, choice in ipairs(choices) do
    for _, name in ipairs(choice.names) do
      selected[name] = vim.iter(selectors):any(function(selector) return matches(selector, name) end)
    end
  end
  checklist.open({
    title = 'Tools of this chat',
    footer = '<Space> select · q close',
    format = function() return format_choices(choices, selected) end,
    toggle = function(line)
      local names = choices[line].names
      local is_whole = vim.iter(names):all(function(name) return selected[name] end)
      for _, name in ipairs(names) do
        selected[name] = not is_whole
      end
      use(buf, to_selectors(selected, choices))
    end,
  })
end

--- Select the tools of a chat.
---@param buf integer
---@param text string selectors separated by commas or whitespace; `-` for none; empty to choose tools in a window
function M.choose(buf, text)
  if not chats.get(buf) then return log.warn('This buffer is not a chat. :Jumpseat opens one.') end
  if text == '-' then return use(buf, {}) end
  if text ~= '' then
    local words = vim.split(text, '[,%s]+', { trimempty = true })
    return use(buf, vim.tbl_map(function(word) return word:find('/') and word or word .. '/*' end, words))
  end
  lists.tools:get(function(err, result)
    if err then return log.error(err) end
    transcript.parse(transcript.text(buf), function(failure, parsed)
      if failure then return log.error(failure) end
      show(buf, result, parsed.daemonTools or {})
    end)
  end)
end

return M
