--- Offers to install the program, sign in or install the local model when nothing can answer yet.
local config = require('jumpseat.core.config')
local lists = require('jumpseat.daemon.lists')
local log = require('jumpseat.core.log')

local M = {}

local INSTALL_MS = 600000

local function install_local_model()
  local command = vim.list_extend({}, config.find_command() or {})
  vim.list_extend(command, { 'local', 'install' })
  log.notify('Installing the local model …')
  vim.system(command, { text = true, timeout = INSTALL_MS }, function(result)
    vim.schedule(function()
      log.write('%s%s', result.stdout or '', result.stderr or '')
      if result.code == 0 then return log.notify('The local model is installed. Send the question again.') end
      log.warn('The local model was not installed: ' .. vim.trim(result.stderr or ''))
    end)
  end)
end

local SIGN_IN, LOCAL, INSTALL, NOT_NOW = 'Sign in', 'Install the local model', 'Install jumpseat', 'Not now'

---@param items string[]
---@param prompt string
local function choose(items, prompt)
  vim.ui.select(items, { prompt = prompt }, function(choice)
    -- Clear Neovim's own menu. Otherwise the first message below it would wait for ENTER and hide later messages.
    vim.cmd.redraw()
    if choice == SIGN_IN then require('jumpseat.account').sign_in() end
    if choice == LOCAL then install_local_model() end
    if choice == INSTALL then require('jumpseat.daemon.install').run(false) end
  end)
end

--- Offer a next step after an error in a chat if no provider is ready or the program is missing.
---@param err jumpseat.Error
function M.offer_next_step(err)
  if not config.find_command() then return choose({ INSTALL, NOT_NOW }, 'jumpseat is not installed.') end
  if not err.data or err.data.kind ~= 'authentication' then return end
  lists.providers:get(function(failure, result)
    if failure or vim.iter(result.providers):any(function(each) return each.configured end) then return end
    choose({ SIGN_IN, LOCAL, NOT_NOW }, 'No provider is ready.')
  end)
end

return M
