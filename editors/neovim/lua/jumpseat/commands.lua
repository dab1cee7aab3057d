--- The commands of `plugin/jumpseat.lua`, by their names.
local M = {}

local function current() return vim.api.nvim_get_current_buf() end

function M.Open(args)
  require('jumpseat.chat').open({ file = args.args ~= '' and args.args or nil, new = args.bang })
end

function M.Send() require('jumpseat.chat').send(current()) end

function M.Ask(args)
  local region = require('jumpseat.region').of_command(current(), args)
  require('jumpseat.ask').ask(args.args, region)
end

function M.Stop()
  local buf = current()
  if require('jumpseat.chat').stop(buf) then return end
  require('jumpseat.log').notify('Nothing runs in this buffer.')
end

return M
