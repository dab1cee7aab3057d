--- `:checkhealth jumpseat`.
local M = {}

local WAIT_MS = 5000

---@param callback fun(done: fun())
---@return boolean
local function within(callback)
  local finished = false
  callback(function() finished = true end)
  return (vim.wait(WAIT_MS, function() return finished end, 20))
end

local function check_providers()
  local answered = within(function(done)
    require('jumpseat.lists').providers:get(function(err, result)
      if err then
        vim.health.error(require('jumpseat.wire').sentence(err))
        return done()
      end
      local info = require('jumpseat.client').info()
      vim.health.ok('jumpseat ' .. (info and info.serverInfo.version or '?') .. ' answers')
      local ready = 0
      for _, each in ipairs(result.providers) do
        if each.configured then ready = ready + 1 end
        local state = ('%s: %s'):format(each.id, require('jumpseat.status').words(each.auth.state))
        vim.health.info(each.auth.message and state .. '. ' .. each.auth.message or state)
      end
      if ready == 0 then
        vim.health.warn(
          'No provider is ready.',
          { 'Sign in with :JumpseatLogin', 'Run `jumpseat local install`' }
        )
      end
      done()
    end)
  end)
  if not answered then
    vim.health.error('jumpseat did not answer within five seconds.', { 'See :JumpseatLog' })
  end
end

function M.check()
  vim.health.start('jumpseat')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim is new enough')
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
  local config = require('jumpseat.config')
  local command = config.command()
  if not command then
    vim.health.error(
      'The program jumpseat was not found.',
      { 'Run :JumpseatInstall', 'Set vim.g.jumpseat.command' }
    )
    return
  end
  vim.health.ok('Program: ' .. table.concat(command, ' '))
  check_providers()
  vim.health.info('Logs: ' .. vim.fn.stdpath('log'))
end

return M
