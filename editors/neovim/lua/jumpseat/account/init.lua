--- Sign-in and sign-out.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local float = require('jumpseat.display.float')
local log = require('jumpseat.core.log')
local status = require('jumpseat.account.status')
local view = require('jumpseat.display.view')

local M = {}

---@class jumpseat.SignIn
---@field token string
---@field cancel fun()
---@field close fun()? closes the window with the code

---@type jumpseat.SignIn?
local running
local count = 0

local function finish_sign_in()
  local done = running
  running = nil
  if done and done.close then done.close() end
end

--- Cancel the running sign-in. The callback of a cancelled request is never called, so clean up here.
function M.cancel()
  if not running then return end
  running.cancel()
  finish_sign_in()
  log.notify('The sign-in was cancelled.')
end

--- Copy a code to the clipboard if possible. Return a sentence that says that the code was copied, or else asks the user to
--- copy it.
---@param code string
---@return string
local function copy(code)
  if vim.fn.has('clipboard') == 1 and pcall(vim.fn.setreg, '+', code) then return 'The code was copied.' end
  local has_osc, osc = pcall(require, 'vim.ui.clipboard.osc52')
  if has_osc and pcall(osc.copy('+'), { code }) then
    return 'The code was sent to the clipboard of your terminal.'
  end
  return 'Copy the code.'
end

---@param prompt table the params of `auth/prompt`
local function show_prompt(prompt)
  if not running or prompt.token ~= running.token then return end
  if running.close then running.close() end
  local lines =
    { 'Sign in to ' .. prompt.provider:gsub('^mcp:', ''), '', 'Page:  ' .. prompt.verificationUri }
  if prompt.userCode then
    local copied = copy(prompt.userCode)
    vim.list_extend(
      lines,
      { 'Code:  ' .. prompt.userCode, '', copied .. ' Waiting for you to enter it on the page …' }
    )
  else
    -- A sign-in to a tool server has no code.
    vim.list_extend(lines, { 'Host:  ' .. prompt.host, '', 'Waiting for you to sign in there …' })
  end
  table.insert(lines, 'Press q to cancel.')
  running.close = float.open(lines, { on_close = M.cancel }).close
  if config.get().open_browser then pcall(vim.ui.open, prompt.verificationUri) end
end

--- Describe the account's most used quota in a few words.
---@param account table
---@return string?
local function describe_quota(account)
  local least
  for _, quota in ipairs(account.quotas or {}) do
    local remaining = not quota.unlimited and quota.percentRemaining
    if remaining and (not least or remaining < least.percentRemaining) then least = quota end
  end
  return least and ('%s: %d %% left'):format((least.name:gsub('_', ' ')), math.floor(least.percentRemaining))
end

--- Show the quota of the model's provider in the window bar of a chat.
---@param buf integer
---@param model string? `provider:model`
function M.show_quota(buf, model)
  local provider = model and model:match('^([^:]+):')
  if not provider then return end
  client.request('auth/status', { provider = provider }, function(err, account)
    if not err then view.update(buf, { quota = describe_quota(account) or vim.NIL }) end
  end)
end

--- The last reported sign-in state of each provider.
---@type table<string, string>
local states = {}
--- Whether the user is signing out: if so, the change of the state needs no warning.
local is_signing_out = false

client.on('auth/didChange', function(account)
  local before = states[account.provider]
  states[account.provider] = account.state
  local lost = account.state == 'signed_out' or account.state == 'expired'
  if lost and before ~= account.state and not is_signing_out then
    log.warn(('You are signed out of %s. %s'):format(account.provider, account.message or ''))
  end
  for _, buf in ipairs(chats.list()) do
    local model = view.status(buf).model
    if model and vim.startswith(model, account.provider .. ':') then
      view.update(buf, { quota = describe_quota(account) or vim.NIL })
    end
  end
end)

client.on('auth/prompt', show_prompt)
client.on('end', finish_sign_in)

---@param account table
---@return string
local function describe_account(account)
  return ('%s: %s.'):format(account.provider, status.describe_state(account.state))
end

--- Sign in. The daemon chooses the provider if none is named.
---@param provider string?
function M.sign_in(provider)
  if running then M.cancel() end
  count = count + 1
  local token = ('nvim-sign-in-%d'):format(count)
  running = { token = token, cancel = function() end }
  running.cancel = client.request(
    'auth/signIn',
    { provider = provider, token = token },
    function(err, account)
      finish_sign_in()
      if err then return log.error(err) end
      if account.state ~= 'signed_in' then
        return log.notify(vim.trim(describe_account(account) .. ' ' .. (account.message or '')))
      end
      log.notify(
        ('Signed in to %s%s.'):format(account.provider, account.login and ' as ' .. account.login or '')
      )
    end
  )
end

---@param provider string?
function M.sign_out(provider)
  is_signing_out = true
  client.request('auth/signOut', { provider = provider }, function(err, account)
    is_signing_out = false
    if err then return log.error(err) end
    log.notify(describe_account(account))
  end)
end

return M
