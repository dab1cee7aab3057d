--- The plug-in's log, and messages to the user.
local wire = require('jumpseat.core.wire')

local M = {}

local STAMP, STAMPED = '%Y-%m-%dT%H:%M:%S ', '^%d+%-%d+%-%d+T%d+:%d+:%d+ '

local LARGEST_BYTES = 1024 * 1024

---@param name string
---@return string
local function path_of(name)
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], name)
end

--- Return the path of the plug-in's own log.
---@return string
function M.path() return path_of('jumpseat.log') end

--- Return the path of the daemon's log, which the daemon writes itself.
---@return string
function M.daemon_path() return path_of('jumpseat-daemon.log') end

--- Wrap a command so that its stderr is appended to the plug-in's log. Without the wrapper, as on Windows, vim.lsp.rpc writes
--- stderr to the LSP log.
---@param command string[]
---@return string[]
function M.with_stderr(command)
  if vim.fn.has('win32') == 1 then return vim.list_extend({}, command) end
  return vim.list_extend({ '/bin/sh', '-c', 'exec "$@" 2>>"$0"', M.path() }, command)
end

--- Return the last line of the log if a process wrote it (see `with_stderr`). If this plug-in wrote it, return an empty string.
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

--- If the log has grown too large, rename it to `jumpseat.log.1`, replacing an older file of that name.
function M.rotate()
  vim.fn.mkdir(vim.fs.dirname(M.path()), 'p')
  local stat = vim.uv.fs_stat(M.path())
  if stat and stat.size > LARGEST_BYTES then vim.uv.fs_rename(M.path(), M.path() .. '.1') end
end

--- Append a line to the log. Never log the text of chats.
---@param format string
---@param ... any
function M.write(format, ...)
  vim.fn.mkdir(vim.fs.dirname(M.path()), 'p')
  local file = io.open(M.path(), 'a')
  if not file then return end
  file:write(os.date(STAMP), format:format(...), '\n')
  file:close()
end

--- Return a handler for the pieces in which a process's output arrives. The handler calls `write` with each complete line.
---@param write fun(line: string)
---@return fun(err?: string, piece?: string)
function M.line_reader(write)
  local rest = ''
  return function(_, piece)
    -- At the end of the output, `piece` is nil.
    local text = rest .. (piece or (rest ~= '' and '\n' or ''))
    local lines = vim.split(text, '\n', { plain = true })
    rest = table.remove(lines)
    for _, line in ipairs(lines) do
      write((line:gsub('\r$', '')))
    end
  end
end

--- Show a message. Warnings and errors are also logged.
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
function M.error(err) M.notify(wire.format_error(err), vim.log.levels.ERROR) end

return M
