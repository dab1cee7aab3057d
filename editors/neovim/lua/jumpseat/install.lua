--- `:JumpseatInstall`: the daemon in a virtual environment of its own.
local config = require('jumpseat.config')
local log = require('jumpseat.log')

local M = {}

local STEP_MS = 600000
local installing = false

---@param directory string
---@return string
local function python_of(directory)
  local windows = vim.fn.has('win32') == 1
  return vim.fs.joinpath(directory, windows and 'Scripts/python.exe' or 'bin/python')
end

--- The commands that make the environment and install into it.
---@param directory string
---@return string[][]?
local function steps(directory)
  local package, python = config.get().package, python_of(directory)
  if vim.fn.executable('uv') == 1 then
    return {
      { 'uv', 'venv', '--clear', '--python', '>=3.11', directory },
      { 'uv', 'pip', 'install', '--python', python, package },
    }
  end
  for _, name in ipairs({ 'python3', 'python' }) do
    if vim.fn.executable(name) == 1 then
      return {
        {
          name,
          '-c',
          'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")',
        },
        { name, '-m', 'venv', '--clear', directory },
        { python, '-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar', 'off', package },
      }
    end
  end
end

---@param message string
---@param ok boolean
local function done(message, ok)
  installing = false
  log.notify(message, ok and vim.log.levels.INFO or vim.log.levels.ERROR)
  vim.api.nvim_exec_autocmds('User', { pattern = 'JumpseatInstalled', data = { ok = ok }, modeline = false })
end

--- Install the daemon; with `again` also if this version is there.
---@param again boolean
function M.run(again)
  if installing then return log.warn('The installation runs already.') end
  local directory = config.install_directory()
  local program = vim.fs.joinpath(vim.fs.dirname(python_of(directory)), 'jumpseat')
  if not again and vim.fn.executable(program) == 1 then
    return log.notify(
      ('jumpseat %s is installed; :JumpseatInstall! installs it again.'):format(config.version)
    )
  end
  local commands = steps(directory)
  if not commands then return log.warn('Neither uv nor python3 was found: install Python 3.11 or newer.') end
  installing = true
  vim.fn.mkdir(vim.fs.dirname(directory), 'p')
  local function step(number)
    local command = commands[number]
    if not command then return done(('jumpseat %s is installed.'):format(config.version), true) end
    log.notify(('Installing jumpseat, step %d of %d …'):format(number, #commands))
    local ran, err = pcall(vim.system, command, { text = true, timeout = STEP_MS }, function(result)
      vim.schedule(function()
        log.write(
          '%s: %d\n%s%s',
          table.concat(command, ' '),
          result.code,
          result.stdout or '',
          result.stderr or ''
        )
        if result.code == 0 then return step(number + 1) end
        -- A half environment would be found and started.
        vim.fn.delete(directory, 'rf')
        local lines = vim.split(vim.trim(result.stderr or ''), '\n')
        done(('The installation failed: %s See :JumpseatLog.'):format(lines[#lines]), false)
      end)
    end)
    if not ran then done('The installation failed: ' .. tostring(err), false) end
  end
  step(1)
end

return M
