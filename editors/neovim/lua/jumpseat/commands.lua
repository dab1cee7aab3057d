--- The commands of `plugin/jumpseat.lua`, by name.
local M = {}

local function current_buffer() return vim.api.nvim_get_current_buf() end

--- Whether a region is small enough to send. Warns if it is not.
---@param target jumpseat.Region
---@return boolean
local function check_size(target)
  local region = require('jumpseat.core.region')
  local refusal = region.check_size('The text', region.size(target))
  if refusal then require('jumpseat.core.log').warn(refusal) end
  return refusal == nil
end

function M.Open(args)
  require('jumpseat.chat').open({ file = args.args ~= '' and args.args or nil, new = args.bang })
end

function M.Send() require('jumpseat.chat').send(current_buffer()) end

function M.Ask(args)
  local target = require('jumpseat.core.region').from_command(current_buffer(), args)
  if not target or check_size(target) then require('jumpseat.chat.ask').ask(args.args, target) end
end

function M.Edit(args)
  local buf = current_buffer()
  local region = require('jumpseat.core.region')
  local line = vim.fn.line('.')
  local target = region.from_command(buf, args) or region.lines(buf, line, line)
  if check_size(target) then require('jumpseat.edit').start(target, args.args) end
end

function M.Accept() require('jumpseat.edit').accept(current_buffer()) end

function M.Reject() require('jumpseat.edit').reject(current_buffer()) end

function M.Again(args) require('jumpseat.edit').rewrite_again(current_buffer(), args.args) end

function M.Stop()
  local buf = current_buffer()
  local chat = require('jumpseat.chat')
  if chat.stop(buf) or require('jumpseat.edit').stop(buf) then return end
  local running = vim.tbl_filter(chat.is_running, require('jumpseat.core.chats').list())
  if #running == 1 then
    chat.stop(running[1])
  elseif #running == 0 then
    require('jumpseat.core.log').notify('Nothing is running in this buffer.')
  else
    require('jumpseat.core.log').warn('Several chats are being answered. Run :JumpseatStop in one of them.')
  end
end

function M.Model(args) require('jumpseat.input.models').choose(current_buffer(), args.args) end

function M.Login(args) require('jumpseat.account').sign_in(args.args ~= '' and args.args or nil) end

function M.Logout(args) require('jumpseat.account').sign_out(args.args ~= '' and args.args or nil) end

function M.Status() require('jumpseat.account.status').show() end

function M.Log() require('jumpseat.account.status').open_logs() end

function M.History(args) require('jumpseat.chat.history').pick(args.args, args.bang) end

function M.Yank() require('jumpseat.chat.code').yank(current_buffer()) end

function M.Insert() require('jumpseat.chat.code').insert(current_buffer()) end

function M.Setting(args) require('jumpseat.input.settings').describe(args.args) end

function M.Install(args) require('jumpseat.daemon.install').run(args.bang) end

--- Commands that work even if the user's options are invalid.
local UNCONDITIONAL = { Stop = true, Reject = true, Log = true }

--- Run a command, unless one of the user's options is invalid.
---@param name string
---@param args table
function M.run(name, args)
  local problem = require('jumpseat.core.config').check()[1]
  if problem and not UNCONDITIONAL[name] then
    return require('jumpseat.core.log').warn(problem .. ' See :help jumpseat-options.')
  end
  M[name](args)
end

---@param words string[]
---@param lead string
---@return string[]
local function filter_by_prefix(words, lead)
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, words)
end

M.complete = {
  models = function(lead) return filter_by_prefix(require('jumpseat.input.models').list_names(), lead) end,
  sign_ins = function(lead)
    local ids = {}
    for _, each in ipairs(require('jumpseat.daemon.lists').providers:get_cached()) do
      if each.authMethod == 'device_code' then table.insert(ids, each.id) end
    end
    return filter_by_prefix(ids, lead)
  end,
}

return M
