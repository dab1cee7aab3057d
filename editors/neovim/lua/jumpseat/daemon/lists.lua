--- The daemon's lists of providers, models and prompts, each kept until the daemon says that it changed.
local client = require('jumpseat.daemon.client')

local M = {}

---@class jumpseat.List
---@field private method string
---@field private key string of the list in the answer
---@field private kept table? the answer
local List = {}
List.__index = List

---@param method string
---@param key string
---@param changes string[] notifications after which the list is another one
---@return jumpseat.List
local function new(method, key, changes)
  local list = setmetatable({ method = method, key = key }, List)
  for _, change in ipairs(vim.list_extend({ 'settings/didChange', 'end' }, changes)) do
    client.on(change, function() list.kept = nil end)
  end
  return list
end

--- The answer with the list.
---@param callback jumpseat.Callback
function List:get(callback)
  -- A provider that failed may answer now.
  if self:is_kept() and #(self.kept.errors or {}) == 0 then return callback(nil, self.kept) end
  client.request(self.method, {}, function(err, result)
    if not err then self.kept = result end
    callback(err, result)
  end)
end

---@return boolean
function List:is_kept() return self.kept ~= nil end

--- What is known without asking, for completion; the first call asks.
---@return table[]
function List:known()
  if not self.kept then self:get(function() end) end
  return self.kept and self.kept[self.key] or {}
end

M.providers = new('providers/list', 'providers', { 'providers/didChange', 'auth/didChange' })
M.models = new('models/list', 'models', { 'models/didChange' })
M.prompts = new('prompts/list', 'prompts', { 'prompts/didChange' })

--- The provider of a model's name, or the default one.
---@param model string?
---@return table?
function M.provider_of(model)
  local default
  for _, each in ipairs(M.providers:known()) do
    if model and vim.startswith(model, each.id .. ':') then return each end
    if each.isDefault then default = each end
  end
  return default
end

return M
