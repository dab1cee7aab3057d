--- What the daemon says of providers and models, kept until it says that it changed.
local client = require('jumpseat.client')

local M = {}

---@type table[]?
local providers
---@type table<string, table[]> by provider; '' for all
local models = {}

client.on('providers/didChange', function() providers = nil end)
client.on('auth/didChange', function() providers = nil end)
client.on('settings/didChange', function()
  providers, models = nil, {}
end)
client.on('models/didChange', function() models = {} end)
client.on('end', function()
  providers, models = nil, {}
end)

--- The providers.
---@param callback fun(err: jumpseat.Error?, providers: table[])
function M.list(callback)
  if providers then return callback(nil, providers) end
  client.request('providers/list', {}, function(err, result)
    if err then return callback(err, {}) end
    providers = result.providers
    callback(nil, result.providers)
  end)
end

--- The models of all providers; a provider that failed has none.
---@param callback fun(err: jumpseat.Error?, models: table[], errors: table[])
function M.models(callback)
  client.request('models/list', {}, function(err, result)
    if err then return callback(err, {}, {}) end
    models[''] = result.models
    callback(nil, result.models, result.errors)
  end)
end

--- What is known without asking, for completion; the first call asks.
---@return table[]
function M.known()
  if not providers then M.list(function() end) end
  return providers or {}
end

---@return table[]
function M.known_models()
  if not models[''] then M.models(function() end) end
  return models[''] or {}
end

---@return string[]
function M.ids()
  return vim.tbl_map(function(each) return each.id end, M.known())
end

--- The provider of a model's name, or the default one.
---@param model string?
---@return table?
function M.of(model)
  local default
  for _, each in ipairs(M.known()) do
    if model and vim.startswith(model, each.id .. ':') then return each end
    if each.isDefault then default = each end
  end
  return default
end

return M
