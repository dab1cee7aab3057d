--- The model picker.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')
local transcript = require('jumpseat.daemon.transcript')
local view = require('jumpseat.display.view')

local M = {}

---@param tokens integer?
---@return string?
local function format_size(tokens) return tokens and ('%dk'):format(math.floor(tokens / 1000 + 0.5)) or nil end

--- Describe a model in one line for the picker: name, limits, cost and abilities.
---@param model table
---@return string
function M.describe(model)
  local parts = { model.id }
  if model.name ~= model.model then vim.list_extend(parts, { model.name }) end
  local context, output = format_size(model.maxContextTokens), format_size(model.maxOutputTokens)
  if context then
    table.insert(parts, context .. ' context' .. (output and ', ' .. output .. ' output' or ''))
  end
  local billing = model.billing or {}
  if billing.multiplier then table.insert(parts, ('%gx'):format(billing.multiplier)) end
  local abilities = {}
  for key, name in pairs({
    supportsVision = 'images',
    supportsToolUse = 'tools',
    supportsThinking = 'thinking',
  }) do
    if model[key] then table.insert(abilities, name) end
  end
  table.sort(abilities)
  if #abilities > 0 then table.insert(parts, table.concat(abilities, ', ')) end
  if model.policy == 'unconfigured' then table.insert(parts, 'terms not accepted') end
  if model.policy == 'disabled' then table.insert(parts, 'disabled') end
  if model.isDefault then table.insert(parts, 'default') end
  return table.concat(parts, ' · ')
end

--- Return the ids of the models that have been fetched so far, for completion.
---@return string[]
function M.list_names()
  return vim.tbl_map(function(model) return model.id end, lists.models:get_cached())
end

---@param buf integer
---@param id string
local function use(buf, id)
  if chats.get(buf) then
    return transcript.set_head(buf, { model = id }, function(err)
      if err then return log.error(err) end
      view.update(buf, { model = id })
    end)
  end
  -- Fetch the list first: the daemon rejects an unknown model only if it has the list.
  lists.models:get(function()
    client.request('settings/save', { settings = { default_model = id } }, function(err, result)
      if err then return log.error(err) end
      if result.warnings then return log.warn(result.warnings[1].message) end
      log.notify(id .. ' is now the default model for all clients.')
    end)
  end)
end

--- Use a model. If it has terms that are not accepted, ask the user to accept them first.
---@param buf integer
---@param model table
local function use_with_terms(buf, model)
  if model.policy == nil or model.policy == 'enabled' or not model.policyTerms then
    return use(buf, model.id)
  end
  local prompt = model.policyTerms .. '\nAccept the terms for your account?'
  vim.ui.select({ 'No', 'Accept' }, { prompt = prompt }, function(choice)
    if choice ~= 'Accept' then return end
    client.request('models/setPolicy', { model = model.id, state = 'enabled' }, function(err)
      if err then return log.error(err) end
      use(buf, model.id)
    end)
  end)
end

--- Choose the model of a chat or, from any other buffer, the default model.
---@param buf integer
---@param name string empty to let the user pick a model
function M.choose(buf, name)
  if name ~= '' then return use(buf, name) end
  lists.models:get(function(err, result)
    if err then return log.error(err) end
    local models = vim.tbl_filter(function(model) return model.pickerEnabled ~= false end, result.models)
    if #models == 0 then
      local reasons = vim.tbl_map(function(each) return each.error.message end, result.errors)
      return log.warn('No models are available. ' .. table.concat(reasons, ' '))
    end
    vim.ui.select(models, { prompt = 'Model:', format_item = M.describe }, function(model)
      if model then use_with_terms(buf, model) end
    end)
  end)
end

return M
