--- The subcommands of `:Jumpseat`, their completion, and the commands of earlier releases.
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

--- Return the region of a command, or nil if the command has no range.
---@param args table
---@return jumpseat.Region? target
---@return boolean is_usable false, after a warning, if the region is too large
local function find_target(args)
  local target = require('jumpseat.core.region').from_command(current_buffer(), args)
  return target, not target or check_size(target)
end

---@param args table
local function ask(args)
  local target, is_usable = find_target(args)
  if is_usable then require('jumpseat.chat.ask').ask(args.args, target) end
end

--- Return the function that runs an edit with this mode.
---@param mode jumpseat.EditMode
---@return fun(args: table)
local function edit(mode)
  return function(args)
    local target, is_usable = find_target(args)
    if is_usable then require('jumpseat.edit').start(current_buffer(), target, args.args, mode) end
  end
end

local function stop()
  local buf = current_buffer()
  local chat = require('jumpseat.chat')
  if chat.stop(buf) or require('jumpseat.edit').stop(buf) then return end
  local running = vim.tbl_filter(chat.is_running, require('jumpseat.core.chats').list())
  if #running == 1 then
    chat.stop(running[1])
  elseif #running == 0 then
    require('jumpseat.core.log').notify('Nothing is running in this buffer.')
  else
    require('jumpseat.core.log').warn('Several chats are being answered. Run :Jumpseat stop in one of them.')
  end
end

---@param words string[]
---@param lead string
---@return string[]
local function filter_by_prefix(words, lead)
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, words)
end

---@param lead string
---@return string[]
local function complete_models(lead)
  return filter_by_prefix(require('jumpseat.input.models').list_names(), lead)
end

---@param lead string
---@return string[]
local function complete_sign_ins(lead)
  local ids = {}
  for _, each in ipairs(require('jumpseat.daemon.lists').providers:get_cached()) do
    if each.authMethod == 'device_code' then table.insert(ids, each.id) end
  end
  return filter_by_prefix(ids, lead)
end

---@param lead string
---@return string[]
local function complete_tools(lead)
  return filter_by_prefix(require('jumpseat.daemon.lists').list_selectors(), lead)
end

---@param lead string
---@return string[]
local function complete_files(lead) return vim.fn.getcompletion(lead, 'file') end

---@return string[]
local function complete_prompts(lead)
  local names = vim.tbl_map(
    function(prompt) return prompt.name end,
    require('jumpseat.daemon.lists').prompts:get_cached()
  )
  return filter_by_prefix(names, lead)
end

--- Complete a prompt or a reference in an instruction.
---@param lead string
---@return string[]
local function complete_instruction(lead)
  if vim.startswith(lead, '/') then
    return vim.tbl_map(function(name) return '/' .. name end, complete_prompts(lead:sub(2)))
  end
  if not vim.startswith(lead, '@') then return {} end
  local words = vim.tbl_map(function(item) return item.word end, require('jumpseat.input.contexts').WORDS)
  return filter_by_prefix(words, lead)
end

---@class jumpseat.Subcommand
---@field about string what it does, in the imperative
---@field run fun(args: table) receives the arguments of a user command, without the subcommand
---@field complete? fun(lead: string): string[]
---@field allows_invalid_options? boolean whether it runs even if one of the user's options is invalid

---@type table<string, jumpseat.Subcommand>
M.subcommands = {
  open = {
    about = 'open the last chat, a new one (with !), or a file',
    run = function(args)
      require('jumpseat.chat').open({ file = args.args ~= '' and args.args or nil, new = args.bang })
    end,
    complete = complete_files,
  },
  toggle = {
    about = 'hide the chats of this tab page, or open the last chat if none is shown',
    run = function() require('jumpseat.chat').toggle() end,
  },
  send = {
    about = 'send the chat in this buffer',
    run = function() require('jumpseat.chat').send(current_buffer()) end,
  },
  ask = { about = 'ask in the last chat, about the range if there is one', run = ask },
  prompt = {
    about = 'use a prompt for the range, or else for the whole file',
    run = function(args)
      local target, is_usable = find_target(args)
      if is_usable then require('jumpseat.palette').use_prompt(args.args, target) end
    end,
    complete = complete_prompts,
  },
  palette = {
    about = 'choose a prompt or a command',
    run = function(args)
      local target, is_usable = find_target(args)
      local function run(name) M.run(name, vim.tbl_extend('force', args, { args = '' })) end
      if is_usable then require('jumpseat.palette').open(target, M.subcommands, run) end
    end,
  },
  edit = {
    about = 'rewrite the range, or the current line',
    run = edit('replace'),
    complete = complete_instruction,
  },
  ['edit-before'] = {
    about = 'write new text above the range, or the current line',
    run = edit('before'),
    complete = complete_instruction,
  },
  ['edit-after'] = {
    about = 'write new text below the range, or the current line',
    run = edit('after'),
    complete = complete_instruction,
  },
  ['edit-new'] = {
    about = 'write new text into a new buffer',
    run = edit('new'),
    complete = complete_instruction,
  },
  accept = {
    about = 'accept all hunks of the new text',
    run = function() require('jumpseat.edit').accept(current_buffer()) end,
  },
  reject = {
    about = 'discard the new text',
    run = function() require('jumpseat.edit').reject(current_buffer()) end,
    allows_invalid_options = true,
  },
  ['accept-hunk'] = {
    about = 'accept the hunk at the cursor, else the first one below it, else the last one',
    run = function() require('jumpseat.edit').settle(current_buffer(), true) end,
  },
  ['reject-hunk'] = {
    about = 'reject the hunk at the cursor, else the first one below it, else the last one',
    run = function() require('jumpseat.edit').settle(current_buffer(), false) end,
  },
  ['next-hunk'] = {
    about = 'go to the next hunk',
    run = function() require('jumpseat.edit.review').move(current_buffer(), 1) end,
  },
  ['previous-hunk'] = {
    about = 'go to the previous hunk',
    run = function() require('jumpseat.edit.review').move(current_buffer(), -1) end,
  },
  again = {
    about = 'rewrite again, with another instruction if one is given',
    run = function(args) require('jumpseat.edit').rewrite_again(current_buffer(), args.args) end,
  },
  stop = { about = 'stop the answer or the edit', run = stop, allows_invalid_options = true },
  ['next-turn'] = {
    about = 'go to the next turn',
    run = function() require('jumpseat.chat.turns').move(current_buffer(), 1) end,
  },
  ['previous-turn'] = {
    about = 'go to the previous turn',
    run = function() require('jumpseat.chat.turns').move(current_buffer(), -1) end,
  },
  regenerate = {
    about = 'ask the question of the turn at the cursor again',
    run = function() require('jumpseat.chat.turns').regenerate(current_buffer()) end,
  },
  ['next-variant'] = {
    about = 'show the next variant of this turn',
    run = function() require('jumpseat.chat.turns').switch(current_buffer(), 1) end,
  },
  ['previous-variant'] = {
    about = 'show the previous variant of this turn',
    run = function() require('jumpseat.chat.turns').switch(current_buffer(), -1) end,
  },
  next = { about = 'show the next chat', run = function() require('jumpseat.chat').cycle(1) end },
  previous = { about = 'show the previous chat', run = function() require('jumpseat.chat').cycle(-1) end },
  close = {
    about = 'close the windows of this chat',
    run = function() require('jumpseat.chat').close(current_buffer()) end,
  },
  keys = {
    about = 'show the keys of chats',
    run = function() require('jumpseat.input.keys').show() end,
    allows_invalid_options = true,
  },
  model = {
    about = 'choose the model of the chat, or outside a chat the default model',
    run = function(args) require('jumpseat.input.models').choose(current_buffer(), args.args) end,
    complete = complete_models,
  },
  tools = {
    about = 'select the tools of the chat',
    run = function(args) require('jumpseat.tools.select').choose(current_buffer(), args.args) end,
    complete = complete_tools,
  },
  approve = {
    about = 'show the call that waits for an approval',
    run = function() require('jumpseat.tools.approvals').open(current_buffer()) end,
  },
  yank = {
    about = 'yank the code block at the cursor, or the last one',
    run = function() require('jumpseat.chat.code').yank(current_buffer()) end,
  },
  apply = {
    about = 'show the code block at the cursor as a diff in its file',
    run = function(args) require('jumpseat.edit.apply').run(current_buffer(), args.args) end,
    complete = complete_files,
  },
  insert = {
    about = 'insert the code block at the cursor into the last buffer that is not a chat',
    run = function() require('jumpseat.chat.code').insert(current_buffer()) end,
  },
  history = {
    about = 'select a kept conversation (with !, only of this directory)',
    run = function(args) require('jumpseat.chat.history').pick(args.args, args.bang) end,
  },
  title = {
    about = 'give this chat another title in the history, or let a model suggest one',
    run = function(args) require('jumpseat.chat.history').title(current_buffer(), args.args) end,
  },
  setting = {
    about = 'explain a setting of the front matter',
    run = function(args) require('jumpseat.input.settings').describe(args.args) end,
  },
  login = {
    about = 'sign in',
    run = function(args) require('jumpseat.account').sign_in(args.args ~= '' and args.args or nil) end,
    complete = complete_sign_ins,
  },
  logout = {
    about = 'sign out',
    run = function(args) require('jumpseat.account').sign_out(args.args ~= '' and args.args or nil) end,
    complete = complete_sign_ins,
  },
  status = {
    about = 'show providers, accounts and the daemon',
    run = function() require('jumpseat.account.status').show() end,
  },
  log = {
    about = 'show the logs',
    run = function() require('jumpseat.account.status').open_logs() end,
    allows_invalid_options = true,
  },
  install = {
    about = 'install the daemon (with !, reinstall it)',
    run = function(args) require('jumpseat.daemon.install').run(args.bang) end,
  },
}

--- Run a subcommand. If one of the user's options is invalid, warn instead, unless the subcommand allows that.
---@param name string
---@param args table
function M.run(name, args)
  local subcommand = M.subcommands[name]
  local problem = require('jumpseat.core.config').check()[1]
  if problem and not subcommand.allows_invalid_options then
    return require('jumpseat.core.log').warn(problem .. ' See :help jumpseat-options.')
  end
  subcommand.run(args)
end

--- Run `:Jumpseat`. Without a subcommand, ask about the range, or open a chat if there is no range.
---@param args table the arguments of a user command
function M.dispatch(args)
  local name, rest = args.args:match('^%s*(%S+)%s*(.-)%s*$')
  if not name then return M.run(args.range > 0 and 'ask' or 'open', args) end
  local subcommand, bang = name:match('^([%a-]+)(!?)$')
  if subcommand and M.subcommands[subcommand] then
    return M.run(subcommand, vim.tbl_extend('force', args, { args = rest, bang = args.bang or bang == '!' }))
  end
  -- Earlier releases accepted the path of a chat instead of a subcommand.
  if name:find('[/\\.~]') then return M.run('open', args) end
  require('jumpseat.core.log').warn(('There is no subcommand %s. See :help jumpseat-commands.'):format(name))
end

--- Complete a subcommand, or its argument.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match('Jumpseat!?%s+([%a-]+)!?%s')
  if not name then
    local names = vim.tbl_keys(M.subcommands)
    table.sort(names)
    return filter_by_prefix(names, lead)
  end
  local complete = vim.tbl_get(M.subcommands, name, 'complete')
  return complete and complete(lead) or {}
end

--- Complete the argument of a command of an earlier release.
---@param alias string the command's name without `Jumpseat`
---@param lead string
---@return string[]
function M.complete_alias(alias, lead) return M.complete(lead, ('Jumpseat %s '):format(alias:lower())) end

return M
