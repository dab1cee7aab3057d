--- Options of the user: `vim.g.jumpseat`, or what `require('jumpseat').setup` stored there.
local M = {}

--- The release of the daemon that this plug-in is made for and installs.
M.version = '0.1.0'

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

--- The options, with defaults for those that are not set.
---@return jumpseat.Options
function M.get()
  local data = vim.fn.stdpath('data') --[[@as string]]
  return vim.tbl_extend('force', {
    args = {},
    directory = vim.fs.joinpath(data, 'jumpseat', 'chats'),
    window = 'botright vsplit',
    keep = true,
    open_browser = not (vim.env.SSH_CLIENT or vim.env.SSH_CONNECTION or vim.env.SSH_TTY),
    log_level = 'warning',
    package = 'jumpseat[local,keyring]==' .. M.version,
  }, vim.g.jumpseat or {})
end

--- What `:JumpseatInstall` installs.
---@return string
function M.package() return (M.get().package:gsub('^~/', vim.uv.os_homedir() .. '/')) end

--- Where `:JumpseatInstall` puts this version. A virtual environment cannot be moved, so each version has its own.
---@return string
function M.install_directory()
  return vim.fs.joinpath(vim.fn.stdpath('data') --[[@as string]], 'jumpseat', 'daemon-' .. M.version)
end

--- The daemon's program, or nil if there is none.
---@return string[]?
function M.command()
  local chosen = M.get().command
  if chosen then return chosen end
  local windows = vim.fn.has('win32') == 1
  local installed =
    vim.fs.joinpath(M.install_directory(), windows and 'Scripts/jumpseat.exe' or 'bin/jumpseat')
  for _, program in ipairs({ installed, 'jumpseat' }) do
    -- The whole path, because Windows starts a `.cmd` only by it.
    if vim.fn.executable(program) == 1 then return { vim.fn.exepath(program) } end
  end
end

return M
