--- The connection to the daemon: one `jumpseat attach` process for this Neovim.
local config = require('jumpseat.core.config')
local log = require('jumpseat.core.log')
local wire = require('jumpseat.core.wire')

local M = {}

--- The process is not restarted automatically if it has crashed more than `RESTARTS` times within `RESTART_SECONDS`.
local RESTARTS, RESTART_SECONDS = 5, 180
local INITIALIZE_MS = 20000
--- One frame at 60 Hz: the daemon merges deltas that arrive within this time.
local COALESCE_MS = 16
local PROTOCOL = 1
--- The commands that the daemon names in its hints.
local COMMANDS = { signIn = ':Jumpseat login', check = ':checkhealth jumpseat' }
local CAPABILITIES = {
  workspace = { applyEdit = true },
  experimental = { jumpseat = { approveTools = true, unsaved = true } },
}
--- The methods that this plug-in requires.
local NEEDED = {
  'chat/start',
  'chat/cancel',
  'edit/start',
  'prompts/list',
  'prompts/get',
  'transcript/check',
  'transcript/parse',
  'transcript/render',
}

---@alias jumpseat.Callback fun(err: jumpseat.Error?, result: any)

---@class jumpseat.Connection
---@field rpc vim.lsp.rpc.PublicClient
---@field state 'starting'|'ready'|'ending'
---@field waiting { method: string, params: table?, callback: jumpseat.Callback }[] requests made before `initialize` was answered
---@field pending table<integer, jumpseat.Callback> unanswered requests
---@field info table? the answer to `initialize`

---@type jumpseat.Connection?
local connection
---@type number[] the times at which the process ended unexpectedly, in seconds
local crashes = {}
local serial = 0
---@type table<string, fun(params: table)[]>
local listeners = {}
---@type table<string, fun(params: table): table>
local handlers = {}

--- Call `listener` for each notification of this method. This module itself emits `end`, with an error as its params, when the
--- process has ended or has failed to initialize.
---@param method string
---@param listener fun(params: table)
function M.on(method, listener)
  listeners[method] = listeners[method] or {}
  table.insert(listeners[method], listener)
end

--- Answer the daemon's requests of this method with the result of `handler`.
---@param method string
---@param handler fun(params: table): table
function M.handle(method, handler) handlers[method] = handler end

---@param method string
---@param params table?
---@return table? result
---@return table? err
local function handle_request(method, params)
  local handler = handlers[method]
  if handler then return wire.prepare(handler(wire.remove_nulls(params or {}))) end
  -- With any other code, vim.lsp.rpc would raise an error and never answer the request.
  return nil, { code = vim.lsp.protocol.ErrorCodes.MethodNotFound, message = 'no such method' }
end

---@param method string
---@param params table
local function emit(method, params)
  for _, listener in ipairs(listeners[method] or {}) do
    listener(params)
  end
end

---@return jumpseat.Error
local function describe_missing()
  local chosen = config.get().command
  if chosen then
    local message = ('The program %s was not found.'):format(chosen[1])
    return wire.error('config', message, config.ADVICE .. '.')
  end
  return wire.error(
    'config',
    'The program jumpseat was not found.',
    'Run :Jumpseat install. ' .. config.ADVICE .. '.'
  )
end

---@param command string[]
---@param version string?
---@param lacks string what the daemon lacks, such as a method
---@return jumpseat.Error
local function describe_too_old(command, version, lacks)
  local name = ('jumpseat%s at %s'):format(version and ' ' .. version or '', table.concat(command, ' '))
  local hint = (':Jumpseat install! installs jumpseat %s for this plug-in.'):format(config.version)
  if config.get().command then
    hint = ('Upgrade it to %s, or remove the option command from your configuration and run :Jumpseat install.'):format(
      config.version
    )
  end
  local message = ('%s is too old for this plug-in (it lacks %s).'):format(name, lacks)
  return wire.error('config', message, hint)
end

---@param gone jumpseat.Connection
---@param err jumpseat.Error
local function fail_all(gone, err)
  local callbacks = vim.tbl_values(gone.pending)
  for _, each in ipairs(gone.waiting) do
    table.insert(callbacks, each.callback)
  end
  gone.pending, gone.waiting = {}, {}
  emit('end', err)
  for _, callback in ipairs(callbacks) do
    callback(err)
  end
end

--- Return an error that says why a process ended before it was ready.
---@param command string[]
---@param code integer
---@param line string the last line of its stderr
---@return jumpseat.Error
local function describe_early_exit(command, code, line)
  -- An old release prints that there is no command 'attach'.
  if line:find("'attach'", 1, true) then return describe_too_old(command, nil, 'attach') end
  local reason = line ~= '' and ': ' .. line:gsub('%.$', '') or ''
  local hint = ('See :Jumpseat log, or run `%s attach` in a terminal.'):format(table.concat(command, ' '))
  return wire.error(
    'connection',
    ('jumpseat ended with code %d before it was ready%s.'):format(code, reason),
    hint
  )
end

---@param gone jumpseat.Connection
---@param command string[]
---@param code integer
---@param signal integer
local function handle_exit(gone, command, code, signal)
  local last_line = log.last_line()
  log.write('jumpseat ended: code %d, signal %d', code, signal)
  if connection == gone then connection = nil end
  if gone.state == 'ending' then return fail_all(gone, wire.error('connection', 'jumpseat was stopped.')) end
  if gone.state == 'starting' then return fail_all(gone, describe_early_exit(command, code, last_line)) end
  -- If no request was running, do not report a crash: the user may have stopped the daemon. The next request starts it.
  if next(gone.pending) == nil then return fail_all(gone, wire.error('connection', 'jumpseat ended.')) end
  local now = vim.uv.now() / 1000
  crashes = vim.tbl_filter(function(at) return now - at < RESTART_SECONDS end, crashes)
  table.insert(crashes, now)
  local can_restart = #crashes <= RESTARTS
  local err = wire.error(
    'connection',
    ('jumpseat ended unexpectedly (code %d).'):format(code),
    can_restart and 'It is being restarted.'
      or 'It ended too often to be restarted automatically. See :Jumpseat log.'
  )
  log.error(err)
  if can_restart then M.start() end
  fail_all(gone, err)
end

--- Return what the daemon lacks (a method, or the version of the protocol), or nil if it has all that the plug-in requires.
---@param result table? the answer to `initialize`
---@return string?
local function find_missing(result)
  local abilities = vim.tbl_get(result or {}, 'capabilities', 'experimental', 'jumpseat') or {}
  if abilities.protocolVersion ~= PROTOCOL then return 'version 1 of the protocol' end
  for _, method in ipairs(NEEDED) do
    if not vim.list_contains(abilities.methods or {}, method) then return method end
  end
end

---@param new jumpseat.Connection
---@param command string[]
---@param err jumpseat.Error?
---@param result table?
local function handle_initialize(new, command, err, result)
  local lacks = not err and find_missing(result)
  if lacks then err = describe_too_old(command, vim.tbl_get(result or {}, 'serverInfo', 'version'), lacks) end
  if err then
    new.state = 'ending'
    if connection == new then connection = nil end
    new.rpc.terminate()
    return fail_all(new, err)
  end
  new.info, new.state = result, 'ready'
  new.rpc.notify('initialized', vim.empty_dict())
  local waiting = new.waiting
  new.waiting = {}
  for _, each in ipairs(waiting) do
    M.request(each.method, each.params, each.callback)
  end
end

--- Send `initialize`, and pass its answer to `handle_initialize`, or an error if there is no answer in time.
---@param new jumpseat.Connection
---@param command string[]
---@param options jumpseat.Options
local function initialize(new, command, options)
  local version = vim.version()
  new.rpc.request(
    'initialize',
    {
      processId = vim.uv.os_getpid(),
      rootUri = vim.NIL,
      capabilities = CAPABILITIES,
      clientInfo = {
        name = 'Neovim',
        version = ('%d.%d.%d'):format(version.major, version.minor, version.patch),
      },
      initializationOptions = {
        config = wire.prepare(options.config),
        coalesceMs = COALESCE_MS,
        commands = COMMANDS,
      },
    },
    function(err, result) handle_initialize(new, command, wire.remove_nulls(err), wire.remove_nulls(result)) end
  )
  vim.defer_fn(function()
    if new.state ~= 'starting' or connection ~= new then return end
    handle_initialize(
      new,
      command,
      wire.error('connection', 'jumpseat did not answer within 20 seconds.', 'See :Jumpseat log.')
    )
  end, INITIALIZE_MS)
end

--- Start the process if it is not running. Errors after the start are passed to the callbacks of the waiting requests.
---@return jumpseat.Error? err why the process could not be started
function M.start()
  if connection then return end
  -- A process that starts now would briefly outlive Neovim, and might start a daemon that nobody uses.
  if type(vim.v.exiting) == 'number' then return wire.error('connection', 'Neovim is exiting.') end
  local command = config.find_command()
  if not command or vim.fn.executable(command[1]) == 0 then return describe_missing() end
  local options = config.get()
  log.rotate()
  local words = log.with_stderr(command)
  vim.list_extend(words, { 'attach', '--log-level', options.log_level, '--log-file', log.daemon_path() })
  vim.list_extend(words, options.args)
  ---@type jumpseat.Connection
  local new = { rpc = nil, state = 'starting', waiting = {}, pending = {} } ---@diagnostic disable-line: assign-type-mismatch
  local dispatchers = {
    notification = function(method, params) emit(method, wire.remove_nulls(params) or {}) end,
    server_request = handle_request,
    on_exit = function(code, signal)
      vim.schedule(function() handle_exit(new, command, code, signal) end)
    end,
    on_error = function(code, err) log.write('rpc error %s: %s', code, vim.inspect(err)) end,
  }
  log.write('start: %s', table.concat(words, ' '))
  local ran, rpc = pcall(vim.lsp.rpc.start, words, dispatchers)
  if not ran or not rpc then
    log.write('%s', tostring(rpc))
    return describe_missing()
  end
  new.rpc, connection = rpc, new
  vim.api.nvim_create_autocmd('VimLeavePre', {
    group = vim.api.nvim_create_augroup('jumpseat.client', {}),
    callback = function() M.stop() end,
  })
  initialize(new, command, options)
end

M.on('window/showMessage', function(params)
  -- Message types run from 1 (error) to 4 (log); log levels run the other way.
  log.notify(params.message, vim.log.levels.ERROR - math.min(params.type, 3) + 1)
end)

--- Send a request, starting the daemon if necessary. Return a function that cancels the request. The callback of a cancelled
--- request is never called: vim.lsp.rpc drops the response.
---@param method string
---@param params table?
---@param callback jumpseat.Callback
---@return fun() cancel
function M.request(method, params, callback)
  local err = M.start()
  if err then
    vim.schedule(function() callback(err) end)
    return function() end
  end
  local current = connection --[[@as jumpseat.Connection]]
  if current.state == 'starting' then
    local entry = { method = method, params = params, callback = callback }
    table.insert(current.waiting, entry)
    return function()
      current.waiting = vim.tbl_filter(function(each) return each ~= entry end, current.waiting)
    end
  end
  serial = serial + 1
  local key = serial
  current.pending[key] = callback
  local _, id = current.rpc.request(method, wire.prepare(params), function(failure, result)
    if not current.pending[key] then return end
    current.pending[key] = nil
    callback(wire.remove_nulls(failure), wire.remove_nulls(result))
  end)
  return function()
    if not current.pending[key] then return end
    current.pending[key] = nil
    current.rpc.notify('$/cancelRequest', { id = id })
  end
end

--- Return the daemon's answer to `initialize`, or nil if the daemon is not connected.
---@return table?
function M.info() return connection and connection.info end

--- Whether the daemon was started, even if it does not answer yet.
---@return boolean
function M.is_started() return connection ~= nil end

--- End the process without waiting for an answer. If Neovim exits first, the process's input closes, which also ends the
--- session.
function M.stop()
  local current = connection
  if not current then return end
  current.state, connection = 'ending', nil
  current.rpc.request('shutdown', nil, function() end)
  current.rpc.notify('exit', nil)
end

return M
