--- The window of `:JumpseatStatus`, other small windows, and the logs.
local client = require('jumpseat.daemon.client')
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

--- Show lines in a floating window, which `q` closes.
---@param lines string[]
---@param on_close? fun() called if the user closes the window
---@return fun() close
function M.open_window(lines, on_close)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, 'wipe'
  local columns, rows = vim.o.columns, vim.o.lines
  local widths = vim.tbl_map(vim.fn.strdisplaywidth, lines)
  local width = math.max(1, math.min(math.max(40, unpack(widths)) + 1, columns - 4))
  local height = 0
  for _, each in ipairs(widths) do
    height = height + math.max(1, math.ceil(each / width))
  end
  height = math.max(1, math.min(height, rows - 5))
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    width = width,
    height = height,
    col = math.floor((columns - width) / 2),
    row = math.max(0, math.floor((rows - height) / 2) - 1),
    style = 'minimal',
    border = 'rounded',
    title = ' jumpseat ',
  })
  vim.wo[win].wrap = true
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf })
  local is_closed_by_user = true
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = function()
      if is_closed_by_user and on_close then vim.schedule(on_close) end
    end,
  })
  return function()
    is_closed_by_user = false
    if vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
  end
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
    M.open_window(lines)
  end)
end

--- Open the logs of the plug-in and the daemon, at their ends.
function M.open_logs()
  log.write('the log was opened')
  vim.cmd('tabedit + ' .. vim.fn.fnameescape(log.path()))
  if vim.uv.fs_stat(log.daemon_path()) then vim.cmd('split + ' .. vim.fn.fnameescape(log.daemon_path())) end
end

return M
