--- `:JumpseatInstall`: the daemon in a virtual environment of its own.
local config = require('jumpseat.core.config')
local event = require('jumpseat.core.event')
local log = require('jumpseat.core.log')

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
  local package, python = config.package(), python_of(directory)
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
  event('Installed', { ok = ok })
end

--- Where the environment before is while another one is made. It works only in its own place.
---@param directory string
---@return string
local function aside(directory) return directory .. '.before' end

---@param directory string
---@param reason string
local function failed(directory, reason)
  -- A half environment would be found and started.
  vim.fn.delete(directory, 'rf')
  vim.uv.fs_rename(aside(directory), directory)
  local what = ('%s could not be installed: %s'):format(config.package(), reason)
  done(
    what .. ' The option package can name another version, or a checkout; :JumpseatLog has all of it.',
    false
  )
end

--- Run a command; its last line of output is shown meanwhile.
---@param command string[]
---@param callback fun(code: integer, output: string)
local function run(command, callback)
  local pieces = {}
  local function read(_, piece)
    table.insert(pieces, piece)
    local line = piece and vim.trim(piece):match('[^\r\n]*$') or ''
    if line == '' then return end
    vim.schedule(function()
      if installing then vim.api.nvim_echo({ { line:sub(1, vim.o.columns - 12), 'Comment' } }, false, {}) end
    end)
  end
  local options = { text = true, timeout = STEP_MS, stdout = read, stderr = read }
  local ran, err = pcall(vim.system, command, options, function(result)
    vim.schedule(function() callback(result.code, table.concat(pieces)) end)
  end)
  if not ran then callback(-1, tostring(err)) end
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
  vim.fn.delete(aside(directory), 'rf')
  vim.uv.fs_rename(directory, aside(directory))
  local function step(number)
    local command = commands[number]
    if not command then
      vim.fn.delete(aside(directory), 'rf')
      return done(('jumpseat %s is installed.'):format(config.version), true)
    end
    log.notify(('Installing jumpseat, step %d of %d …'):format(number, #commands))
    run(command, function(code, output)
      log.write('%s: %d\n%s', table.concat(command, ' '), code, output)
      if code == 0 then return step(number + 1) end
      local reason = vim.trim(output):match('[^\r\n]*$')
      failed(directory, vim.trim((reason:gsub('[^.!?]$', '%0.'))))
    end)
  end
  step(1)
end

return M
