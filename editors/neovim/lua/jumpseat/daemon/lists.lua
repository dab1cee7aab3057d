--- The daemon's lists of providers, models, tools and prompts, each cached until the daemon reports a change.
local client = require('jumpseat.daemon.client')

local M = {}

---@class jumpseat.List
---@field private method string
---@field private key string the list's key in the response
---@field private kept table? the cached response
local List = {}
List.__index = List

---@param method string
---@param key string
---@param changes string[] notifications that invalidate the list
---@return jumpseat.List
local function new(method, key, changes)
  local list = setmetatable({ method = method, key = key }, List)
  for _, change in ipairs(vim.list_extend({ 'settings/didChange', 'end' }, changes)) do
    client.on(change, function() list.kept = nil end)
  end
  return list
end

--- Pass the response with the list to the callback. If the cached response contains errors, request the list again.
---@param callback jumpseat.Callback
function List:get(callback)
  -- A provider that failed before may answer now.
  if self:is_cached() and #(self.kept.errors or {}) == 0 then return callback(nil, self.kept) end
  client.request(self.method, {}, function(err, result)
    if not err then self.kept = result end
    callback(err, result)
  end)
end

---@return boolean
function List:is_cached() return self.kept ~= nil end

--- Return the cached list, for completion. If there is none, request it for the next call.
---@return table[]
function List:get_cached()
  if not self.kept then self:get(function() end) end
  return self.kept and self.kept[self.key] or {}
end

M.providers = new('providers/list', 'providers', { 'providers/didChange', 'auth/didChange' })
M.models = new('models/list', 'models', { 'models/didChange' })
M.tools = new('tools/list', 'tools', { 'tools/didChange' })
M.prompts = new('prompts/list', 'prompts', { 'prompts/didChange' })

--- Return the selectors that completion offers: each server, and each tool.
---@return string[]
function M.list_selectors()
  local selectors, servers = {}, {}
  for _, tool in ipairs(M.tools:get_cached()) do
    if not servers[tool.server] then table.insert(selectors, tool.server .. '/*') end
    servers[tool.server] = true
    table.insert(selectors, tool.server .. '/' .. tool.tool)
  end
  return selectors
end

--- Return the provider that a model's name starts with, or else the default provider.
---@param model string?
---@return table?
function M.find_provider(model)
  local default
  for _, each in ipairs(M.providers:get_cached()) do
    if model and vim.startswith(model, each.id .. ':') then return each end
    if each.isDefault then default = each end
  end
  return default
end

return M
