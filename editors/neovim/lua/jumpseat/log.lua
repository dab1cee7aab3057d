--- The plug-in's log, and messages to the user.
local M = {}

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

--- Append a line to the log. Texts of chats do not belong here.
---@param format string
---@param ... any
function M.write(format, ...)
  vim.fn.mkdir(vim.fs.dirname(M.path()), 'p')
  local file = io.open(M.path(), 'a')
  if not file then return end
  file:write(os.date('%Y-%m-%dT%H:%M:%S '), format:format(...), '\n')
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
function M.error(err) M.notify(require('jumpseat.wire').sentence(err), vim.log.levels.ERROR) end

return M
