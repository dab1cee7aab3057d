--- `:checkhealth jumpseat`.
local M = {}

local WAIT_MS = 5000

---@param callback fun(done: fun())
---@return boolean
local function wait_for(callback)
  local finished = false
  callback(function() finished = true end)
  return (vim.wait(WAIT_MS, function() return finished end, 20))
end

--- Report the daemon's version, and whether the plug-in was made for it.
local function check_daemon_version()
  local info = require('jumpseat.daemon.client').info()
  local version, own = info and info.serverInfo.version or '?', require('jumpseat.core.config').version
  if version == own then return vim.health.ok('jumpseat ' .. version .. ' answers') end
  vim.health.warn(('jumpseat %s answers, but this plug-in was made for %s.'):format(version, own), {
    ':Jumpseat install installs ' .. own .. ', unless the option command names another program',
    'After an upgrade, an old daemon may still run: `jumpseat daemon stop` ends it',
  })
end

local function check_providers()
  local answered = wait_for(function(done)
    require('jumpseat.daemon.lists').providers:get(function(err, result)
      if err then
        vim.health.error(require('jumpseat.core.wire').format_error(err))
        return done()
      end
      check_daemon_version()
      local ready = 0
      for _, each in ipairs(result.providers) do
        if each.configured then ready = ready + 1 end
        local state = ('%s: %s'):format(
          each.id,
          require('jumpseat.account.status').describe_state(each.auth.state)
        )
        vim.health.info(each.auth.message and state .. '. ' .. each.auth.message or state)
      end
      if ready == 0 then
        vim.health.warn(
          'No provider is ready.',
          { 'Sign in with :Jumpseat login', 'Or ask in a chat, which offers to install the local model' }
        )
      end
      done()
    end)
  end)
  if not answered then
    vim.health.error('jumpseat did not answer within five seconds.', { 'See :Jumpseat log' })
  end
end

--- Report which optional programs and plug-ins are installed.
local function check_surroundings()
  if vim.fn.has('clipboard') == 1 then
    vim.health.ok('There is a clipboard for codes and code blocks')
  else
    vim.health.info(
      'There is no clipboard: see :help clipboard. Sign-in codes are sent to the terminal instead.'
    )
  end
  local sources = {}
  if pcall(require, 'blink.cmp') then table.insert(sources, 'blink.cmp') end
  if pcall(require, 'cmp') then table.insert(sources, 'nvim-cmp') end
  if #sources == 0 then
    vim.health.info('Neither blink.cmp nor nvim-cmp is installed: CTRL-X CTRL-O completes in chats')
  else
    vim.health.ok('Completion in chats through ' .. table.concat(sources, ', '))
  end
  local picker = require('jumpseat.chat.pickers').find()
  vim.health.info('The history is listed in ' .. (picker == 'select' and 'vim.ui.select' or picker))
  if vim.fn.executable('git') == 0 then
    vim.health.info('The program git was not found: @diff, @staged and @unstaged do not work')
  end
  if #vim.api.nvim_get_runtime_file('parser/markdown.*', false) == 0 then
    vim.health.info('There is no Tree-sitter parser for Markdown: chats use the syntax file')
  end
end

--- Report invalid and unknown options.
---@return boolean ok whether no option is invalid
local function check_options()
  local problems, unknown = require('jumpseat.core.config').check()
  for _, problem in ipairs(problems) do
    vim.health.error(problem, { 'See :help jumpseat-options' })
  end
  for _, name in ipairs(unknown) do
    vim.health.warn(('There is no option %s.'):format(name), { 'See :help jumpseat-options' })
  end
  return #problems == 0
end

function M.check()
  local config = require('jumpseat.core.config')
  local too_old = config.check_version()
  if too_old then
    -- Neovim 0.8 and 0.9 call these functions `report_*`. Older versions have them in the module `health`.
    local health = vim.health or require('health')
    health.report_start('jumpseat')
    return health.report_error(too_old)
  end
  vim.health.start('jumpseat')
  vim.health.ok(('Neovim %s is recent enough for jumpseat %s'):format(vim.version(), config.version))
  if not check_options() then return end
  local command = config.find_command()
  if not command then
    vim.health.error('The program jumpseat was not found.', { 'Run :Jumpseat install', config.ADVICE })
    return
  end
  vim.health.ok('Program: ' .. table.concat(command, ' '))
  check_providers()
  check_surroundings()
  vim.health.info('Logs: ' .. vim.fn.stdpath('log'))
end

return M
