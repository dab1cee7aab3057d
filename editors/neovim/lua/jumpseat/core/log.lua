--- The plug-in's log, and messages to the user.
local wire = require('jumpseat.core.wire')

local M = {}

local STAMP, STAMPED = '%Y-%m-%dT%H:%M:%S ', '^%d+%-%d+%-%d+T%d+:%d+:%d+ '

local LARGEST = 1024 * 1024

---@param name string
---@return string
local function path_of(name)
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], name)
end

--- The plug-in's own log.
---@return string
function M.path() return path_of('jumpseat.log') end

--- The log of the daemon, which writes it itself.
---@return string
function M.daemon_path() return path_of('jumpseat-daemon.log') end

--- A command whose stderr is appended to the log; vim.lsp.rpc would write it to its own.
---@param command string[]
---@return string[]
function M.with_stderr(command)
  if vim.fn.has('win32') == 1 then return vim.list_extend({}, command) end
  return vim.list_extend({ '/bin/sh', '-c', 'exec "$@" 2>>"$0"', M.path() }, command)
end

--- The last line of the log; empty if it is one that this plug-in wrote.
---@return string
function M.last_line()
  local file = io.open(M.path(), 'r')
  if not file then return '' end
  file:seek('end', -math.min(4096, file:seek('end')))
  local text = vim.trim(file:read('*a') or '')
  file:close()
  local line = text:match('[^\n]*$')
  return line:find(STAMPED) and '' or line
end

--- Begin another file if the log has grown; the one before is kept.
function M.rotate()
  vim.fn.mkdir(vim.fs.dirname(M.path()), 'p')
  local stat = vim.uv.fs_stat(M.path())
  if stat and stat.size > LARGEST then vim.uv.fs_rename(M.path(), M.path() .. '.1') end
end

--- Append a line to the log. Texts of chats do not belong here.
---@param format string
---@param ... any
function M.write(format, ...)
  vim.fn.mkdir(vim.fs.dirname(M.path()), 'p')
  local file = io.open(M.path(), 'a')
  if not file then return end
  file:write(os.date(STAMP), format:format(...), '\n')
  file:close()
end

--- Show a message, and keep it in the log.
---@param message string
---@param level? integer
function M.notify(message, level)
  level = level or vim.log.levels.INFO
  if level >= vim.log.levels.WARN then M.write('%s', message) end
  vim.notify('jumpseat: ' .. message, level)
end

---@param message string
function M.warn(message) M.notify(message, vim.log.levels.WARN) end

---@param err jumpseat.Error
function M.error(err) M.notify(wire.sentence(err), vim.log.levels.ERROR) end

return M
