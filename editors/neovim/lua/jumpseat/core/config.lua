--- The user's options: `vim.g.jumpseat`, which `require('jumpseat').setup` also sets.
local M = {}

--- The daemon's release that this plug-in is made for and installs.
M.version = '0.1.0'

--- Return why this Neovim cannot run the plug-in, or nil if it can. This function must work in any Neovim that has Lua.
---@return string?
function M.check_version()
  if vim.fn.has('nvim-0.10') == 1 then return end
  local version = vim.fn.api_info().version
  return ('jumpseat needs Neovim 0.10 or newer; this is %d.%d.%d.'):format(
    version.major,
    version.minor,
    version.patch
  )
end

--- The hint that explains how to configure the program.
M.ADVICE = "Set it with :lua require('jumpseat').setup({ command = { '/path/to/jumpseat' } })"

---@class jumpseat.Options
---@field command? string[] the command before `attach`; default: what `:Jumpseat install` installed, else `jumpseat` on PATH
---@field args? string[] further arguments of `jumpseat attach`
---@field config? table the configuration overlay that is sent as `initializationOptions.config`
---@field model? string the model of new chats, of edits, and of questions from Lua
---@field directory? string the directory for new chats
---@field tools? string[] selectors of the tools of new chats, such as `files/*`
---@field rules? boolean whether the daemon adds the rules of the workspace, such as AGENTS.md; default false
---@field keys? false|table<string, string|string[]|false> the keys of chats and reviews, by subcommand; false for no keys
---@field window? string where a chat opens: right, left, above, below, tab, float, or a command that opens a window
---@field size? number the columns or lines of a chat's window; if less than 1, a fraction of the screen
---@field picker? string the picker of the history: snacks, fzf-lua, telescope or select; default: the first one installed
---@field open_browser? boolean whether signing in may open a browser; default: true, but false over SSH
---@field keep? boolean whether the daemon keeps the conversations; default true
---@field log_level? string the daemon's log level
---@field package? string the pip requirement that `:Jumpseat install` installs; default: the wheel in this plug-in, or the checkout

---@param value any
---@return boolean
local function is_words(value)
  return vim.islist(value) and vim.iter(value):all(function(word) return type(word) == 'string' end)
end

---@param value any
---@return boolean
local function is_command(value) return is_words(value) and #value > 0 end

---@param value any
---@return boolean
local function is_keys(value)
  if value == false then return true end
  return type(value) == 'table'
    and vim.iter(value):all(
      function(command, keys)
        return type(command) == 'string' and (keys == false or type(keys) == 'string' or is_words(keys))
      end
    )
end

local PICKERS = { 'snacks', 'fzf-lua', 'telescope', 'select' }
local LOG_LEVELS = { 'debug', 'info', 'warning', 'error' }

--- The rule for each option: a type name or a predicate, and the words that describe it in messages.
---@type table<string, { is: string|(fun(value: any): boolean), words: string }>
local RULES = {
  command = { is = is_command, words = "a list of words, such as { '/path/to/jumpseat' }" },
  args = { is = is_words, words = 'a list of words' },
  config = { is = 'table', words = 'a table' },
  model = { is = 'string', words = 'a string' },
  directory = { is = 'string', words = 'a string' },
  tools = { is = is_words, words = "a list of selectors, such as { 'files/*' }" },
  rules = { is = 'boolean', words = 'true or false' },
  keys = { is = is_keys, words = "false, or a table of keys by subcommand, such as { send = '<CR>' }" },
  window = { is = 'string', words = 'a string' },
  size = { is = function(value) return type(value) == 'number' and value > 0 end, words = 'a number above 0' },
  picker = {
    is = function(value) return vim.list_contains(PICKERS, value) end,
    words = 'one of ' .. table.concat(PICKERS, ', '),
  },
  open_browser = { is = 'boolean', words = 'true or false' },
  keep = { is = 'boolean', words = 'true or false' },
  log_level = {
    is = function(value) return vim.list_contains(LOG_LEVELS, value) end,
    words = 'one of ' .. table.concat(LOG_LEVELS, ', '),
  },
  package = { is = 'string', words = 'a string' },
}

--- Read the user's options. Return the valid options, a sentence about each invalid option, and the unknown names.
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

--- Check the user's options.
---@return string[] problems sentences, one for each invalid option
---@return string[] unknown names of options that do not exist
function M.check()
  local _, problems, unknown = read()
  return problems, unknown
end

--- Return the options, with defaults for those that are unset or invalid.
---@return jumpseat.Options
function M.get()
  local data = vim.fn.stdpath('data') --[[@as string]]
  local options = vim.tbl_extend('force', {
    args = {},
    directory = vim.fs.joinpath(data, 'jumpseat', 'chats'),
    window = 'right',
    keep = true,
    rules = false,
    open_browser = not (vim.env.SSH_CLIENT or vim.env.SSH_CONNECTION or vim.env.SSH_TTY),
    log_level = 'warning',
  }, (read()))
  options.directory = vim.fs.normalize(options.directory)
  return options
end

--- Return the directory that `:Jumpseat install` installs into.
---@return string
function M.install_directory()
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'jumpseat', 'daemon')
end

--- Return the program that `:Jumpseat install` installed for this version, or nil.
---@return string?
function M.find_installed()
  -- The file can be absent, corrupt, or of another shape.
  local readable, program = pcall(function()
    local lines = vim.fn.readfile(vim.fs.joinpath(M.install_directory(), 'current.json'))
    local current = vim.json.decode(table.concat(lines))
    return current.key == M.version and vim.fn.executable(current.program) == 1 and current.program or nil
  end)
  return readable and program or nil
end

--- Return the daemon's command, or nil if there is none.
---@return string[]?
function M.find_command()
  local chosen = M.get().command
  if chosen then return chosen end
  local installed = M.find_installed()
  if installed then return { installed } end
  -- Windows starts a `.cmd` file only if its full path is given.
  if vim.fn.executable('jumpseat') == 1 then return { vim.fn.exepath('jumpseat') } end
end

return M
