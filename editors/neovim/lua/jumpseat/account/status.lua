--- The window of `:Jumpseat status`, and the logs.
local client = require('jumpseat.daemon.client')
local float = require('jumpseat.display.float')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')

local M = {}

--- Describe the state of an account.
---@param state string
---@return string
function M.describe_state(state)
  if state == 'not_required' then return 'no sign-in needed' end
  return (state:gsub('_', ' '))
end

---@param quota table
---@return string
local function format_quota(quota)
  if quota.unlimited then return ('    %s: unlimited'):format(quota.name) end
  local left = quota.remaining
    and quota.entitlement
    and (' (%d of %d)'):format(quota.remaining, quota.entitlement)
  return ('    %s: %d %% left%s'):format(quota.name, math.floor(quota.percentRemaining), left or '')
end

---@param list table[]
---@return string[]
local function format_providers(list)
  local lines = {}
  for _, each in ipairs(list) do
    local auth = each.auth
    local account = auth.login and (' as %s'):format(auth.login) or ''
    local plan = auth.plan and (', %s'):format(auth.plan) or ''
    local default = each.isDefault and '  (default)' or ''
    table.insert(
      lines,
      ('  %s: %s%s%s%s'):format(each.id, M.describe_state(auth.state), account, plan, default)
    )
    if auth.message then table.insert(lines, '    ' .. auth.message) end
    for _, quota in ipairs(auth.quotas or {}) do
      table.insert(lines, format_quota(quota))
    end
  end
  return lines
end

--- Show the providers with their accounts and quotas, and the daemon's version.
function M.show()
  lists.providers:get(function(err, result)
    if err then return log.error(err) end
    local info = client.info()
    local lines = { ('jumpseat %s'):format(info and info.serverInfo.version or '?'), '', 'Providers' }
    vim.list_extend(lines, format_providers(result.providers))
    float.open(lines)
  end)
end

--- Open the logs of the plug-in and the daemon, at their ends.
function M.open_logs()
  log.write('the log was opened')
  vim.cmd('tabedit + ' .. vim.fn.fnameescape(log.path()))
  if vim.uv.fs_stat(log.daemon_path()) then vim.cmd('split + ' .. vim.fn.fnameescape(log.daemon_path())) end
end

return M
