--- `:Jumpseat install`: installs the daemon into its own virtual environment, with the script that all editors share.
local config = require('jumpseat.core.config')
local fire = require('jumpseat.core.event')
local log = require('jumpseat.core.log')

local M = {}

-- Do not normalize this path: the plug-in's directory may be a link into the repository, and `..` must start from its target.
local PLUGIN = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/../../..'
--- The script that all editors share. In a release, it is inside the plug-in's directory; in the repository, it is beside
--- that directory.
local SCRIPT = PLUGIN .. (vim.uv.fs_stat(PLUGIN .. '/bootstrap.py') and '/bootstrap.py' or '/../bootstrap.py')

--- The commands that can run the script, best first.
local LAUNCHERS = {
  { 'uv', 'run', '--no-project', '--python', '>=3.11', SCRIPT, '--uv', 'uv' },
  { 'python3', SCRIPT },
  { 'python', SCRIPT },
}

--- The script's exit codes for a failed and a cancelled installation.
local FAILED = { [20] = true, [21] = true }

local installing = false

---@param message string
---@param ok boolean
local function finish(message, ok)
  installing = false
  log.notify(message, ok and vim.log.levels.INFO or vim.log.levels.ERROR)
  fire('Installed', { ok = ok })
end

--- Run the script with a launcher. If this launcher cannot run the script, try the next one.
---@param number integer
---@param arguments string[]
local function run(number, arguments)
  local launcher = LAUNCHERS[number]
  if not launcher then
    return finish('jumpseat needs uv, or Python 3.11 or newer with venv. Neither was found.', false)
  end
  local command = vim.list_extend(vim.list_extend({}, launcher), arguments)
  local last = ''
  local show = log.line_reader(function(line)
    last = line
    vim.schedule(function()
      if installing then vim.api.nvim_echo({ { line:sub(1, vim.o.columns - 12), 'Comment' } }, false, {}) end
    end)
  end)
  local write = log.line_reader(vim.schedule_wrap(function(line) log.write('%s', line) end))
  log.write('%s', table.concat(command, ' '))
  -- The script ends when its input closes, which happens when Neovim exits. It runs in the home directory, so that no
  -- workspace can choose uv's Python.
  local options = { text = true, stdin = true, cwd = vim.uv.os_homedir(), stdout = show, stderr = write }
  local started = pcall(vim.system, command, options, function(result)
    vim.schedule(function()
      if result.code == 0 and result.signal == 0 then return finish(last, true) end
      if not FAILED[result.code] then return run(number + 1, arguments) end
      finish(
        last .. ' Set the option package to install a wheel or a checkout. :Jumpseat log shows all output.',
        false
      )
    end)
  end)
  if not started then run(number + 1, arguments) end
end

--- Install the daemon. If `again` is set, replace an installation of this version.
---@param again boolean
function M.run(again)
  if installing then return log.warn('jumpseat is already being installed.') end
  if not again and config.find_installed() then
    return log.notify(
      ('jumpseat %s is already installed; run :Jumpseat install! to reinstall it.'):format(config.version)
    )
  end
  installing = true
  log.notify('Installing jumpseat …')
  local arguments = { '--directory', config.install_directory(), '--key', config.version }
  if again then table.insert(arguments, '--again') end
  table.insert(arguments, config.get().package)
  run(1, arguments)
end

return M
