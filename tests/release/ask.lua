-- Takes the steps that a new user takes: installs the daemon and the local model, and asks it $ASK_QUESTION.
-- Writes the installer's last line and the chat to $ASK_RESULT, and ends Neovim, with code 1 after an error.
local said = {}
vim.notify = function(text) table.insert(said, text) end

--- Wait until `holds` returns a value, and return it.
local function wait(seconds, holds)
  local value
  vim.wait(seconds * 1000, function()
    value = holds()
    return value ~= nil
  end, 50)
  return value or error('timed out: ' .. vim.inspect(said))
end

local function wait_for(...)
  local patterns = { ... }
  return wait(300, function()
    for _, text in ipairs(said) do
      for _, pattern in ipairs(patterns) do
        if text:find(pattern) then return text end
      end
    end
  end)
end

local ended
vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatTurnEnded', callback = function() ended = true end })

local function send(question)
  ended = nil
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { question })
  vim.cmd.JumpseatSend()
  wait(120, function() return ended end)
end

local function main()
  vim.cmd.JumpseatInstall()
  local installed = wait_for('is installed%.$', 'failed', 'found neither')
  -- Without a provider, the plug-in offers the local model.
  vim.ui.select = function(_, _, choose) choose('Install the local model') end
  vim.cmd.Jumpseat()
  send(vim.env.ASK_QUESTION)
  wait_for('The local model is installed', 'was not installed')
  send('')
  vim.fn.writefile({ installed, unpack(vim.api.nvim_buf_get_lines(0, 0, -1, false)) }, vim.env.ASK_RESULT)
end

local ok, reason = pcall(main)
if not ok then io.stderr:write(reason, '\n') end
vim.cmd(ok and 'qall!' or 'cquit')
