--- Options of the user: `vim.g.jumpseat`, or what `require('jumpseat').setup` stored there.
local M = {}

--- The release of the daemon that this plug-in is made for and installs.
M.version = '0.1.0'

--- Why this Neovim cannot run the plug-in, or nil if it can. Any Neovim with Lua can call this.
---@return string?
function M.too_old()
  if vim.fn.has('nvim-0.10') == 1 then return end
  local version = vim.fn.api_info().version
  return ('jumpseat needs Neovim 0.10 or newer; this is %d.%d.%d.'):format(
    version.major,
    version.minor,
    version.patch
  )
end

--- The name of the program in hints.
M.ADVICE = "Name it with :lua require('jumpseat').setup({ command = { '/path/to/jumpseat' } })"

---@class jumpseat.Options
---@field command? string[] the program, without `attach`; default: the one of `:JumpseatInstall`, else `jumpseat` on the PATH
---@field args? string[] further arguments of `jumpseat attach`
---@field config? table the overlay that is sent as `initializationOptions.config`
---@field model? string the model that new chats name in their front matter
---@field directory? string where new chats are saved
---@field window? string the command that opens a window for a chat
---@field open_browser? boolean whether signing in may open a browser; default: not over SSH
---@field keep? boolean whether the daemon keeps the conversations; default true
---@field log_level? string of the daemon
---@field package? string what `:JumpseatInstall` installs, as a requirement for pip

---@param value any
---@return boolean
local function is_words(value)
  return vim.islist(value) and vim.iter(value):all(function(word) return type(word) == 'string' end)
end

---@param value any
---@return boolean
local function is_command(value) return is_words(value) and #value > 0 end

local LOG_LEVELS = { 'debug', 'info', 'warning', 'error' }

--- The rule of each option: a type, or a function that decides, and the words for a person.
---@type table<string, { is: string|(fun(value: any): boolean), words: string }>
local RULES = {
  command = { is = is_command, words = "a list of words, such as { '/path/to/jumpseat' }" },
  args = { is = is_words, words = 'a list of words' },
  config = { is = 'table', words = 'a table' },
  model = { is = 'string', words = 'a string' },
  directory = { is = 'string', words = 'a string' },
  window = { is = 'string', words = 'a string' },
  open_browser = { is = 'boolean', words = 'true or false' },
  keep = { is = 'boolean', words = 'true or false' },
  log_level = {
    is = function(value) return vim.list_contains(LOG_LEVELS, value) end,
    words = 'one of ' .. table.concat(LOG_LEVELS, ', '),
  },
  package = { is = 'string', words = 'a string' },
}

--- The options that the user set and that are as they must be, what is wrong with others, and those that do not exist.
---@return table valid
---@return string[] problems
---@return string[] unknown
local function read()
  local set, valid, problems, unknown = vim.g.jumpseat or {}, {}, {}, {}
  if type(set) ~= 'table' then return valid, { 'vim.g.jumpseat must be a table.' }, unknown end
  for key, value in vim.spairs(set) do
    local rule = RULES[key]
    if not rule then
      table.insert(unknown, tostring(key))
    elseif rule.is == type(value) or (vim.is_callable(rule.is) and rule.is(value)) then
      valid[key] = value
    else
      table.insert(problems, ('The option %s must be %s.'):format(key, rule.words))
    end
  end
  return valid, problems, unknown
end

--- The faults of the options, in sentences.
---@return string[] problems
---@return string[] unknown names that no option has
function M.check()
  local _, problems, unknown = read()
  return problems, unknown
end

--- The options, with defaults for those that are not set, or are wrong.
---@return jumpseat.Options
function M.get()
  local data = vim.fn.stdpath('data') --[[@as string]]
  local options = vim.tbl_extend('force', {
    args = {},
    directory = vim.fs.joinpath(data, 'jumpseat', 'chats'),
    window = 'botright vsplit',
    keep = true,
    open_browser = not (vim.env.SSH_CLIENT or vim.env.SSH_CONNECTION or vim.env.SSH_TTY),
    log_level = 'warning',
    package = 'jumpseat[local,keyring]==' .. M.version,
  }, (read()))
  options.directory = vim.fs.normalize(options.directory)
  return options
end

--- Where `:JumpseatInstall` installs.
---@return string
function M.install_directory()
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'jumpseat', 'daemon')
end

--- The program of this version that `:JumpseatInstall` has installed, or nil.
---@return string?
function M.installed()
  local readable, current = pcall(function()
    local lines = vim.fn.readfile(vim.fs.joinpath(M.install_directory(), 'current.json'))
    return vim.json.decode(table.concat(lines))
  end)
  if readable and current.key == M.version and vim.fn.executable(current.program) == 1 then
    return current.program
  end
end

--- The daemon's program, or nil if there is none.
---@return string[]?
function M.command()
  local chosen = M.get().command
  if chosen then return chosen end
  local installed = M.installed()
  if installed then return { installed } end
  -- The whole path, because Windows starts a `.cmd` only by it.
  if vim.fn.executable('jumpseat') == 1 then return { vim.fn.exepath('jumpseat') } end
end

return M
