--- The functions for users and other plug-ins. They load the other modules when they are called.
local M = {}

--- Set these options in `vim.g.jumpseat`, and keep the others. A call of this function is not required.
---@param options? jumpseat.Options
function M.setup(options) vim.g.jumpseat = vim.tbl_extend('force', vim.g.jumpseat or {}, options or {}) end

--- Return a text for the status line: the model and the state of the chat in this buffer, and the number of tool calls that
--- wait for approval in all chats. This neither loads modules nor sends requests.
---@return string
function M.statusline()
  local view = package.loaded['jumpseat.display.view']
  if not view then return '' end
  local approvals = package.loaded['jumpseat.tools.approvals']
  local waiting = approvals and approvals.count() or 0
  local sign = waiting == 1 and '1 call waits for approval'
    or waiting > 1 and waiting .. ' calls wait for approval'
    or ''
  local buf = vim.api.nvim_get_current_buf()
  local model = (view.status(buf).model or ''):gsub('^[^:]*:', '')
  local label = view.status(buf).state ~= 'approving' and view.label(buf) or ''
  return vim.trim(table.concat({ model, label, sign }, ' '))
end

---@class jumpseat.AskOptions
---@field question string
---@field buffer? integer a buffer whose text is sent with the question
---@field first? integer the first line of that text, from 1; default: 1
---@field last? integer the last line of that text; default: `first`, or without `first` the last line of the buffer
---@field model? string
---@field system? string
---@field keep? boolean whether the daemon keeps the conversation; default false
---@field on_delta? fun(text: string) called with each piece of the answer's text, at most once per frame
---@field on_done? fun(err: jumpseat.Error?, result: table?) called once with the result of `chat/start`

--- Ask a question without a chat.
---@param options jumpseat.AskOptions
---@return { stop: fun() } turn
function M.ask(options)
  assert(type(options.question) == 'string', 'question must be a string')
  local content = {}
  if options.buffer then table.insert(content, require('jumpseat.core.region').block(M._region(options))) end
  table.insert(content, { type = 'text', text = options.question })
  local params = {
    messages = { { role = 'user', content = content } },
    model = options.model or require('jumpseat.core.config').get().model,
    system = options.system,
    keep = options.keep or false,
  }
  local turn = require('jumpseat.daemon.turn').start('chat/start', params, function(deltas)
    local text = {}
    for _, delta in ipairs(deltas) do
      if delta.type == 'text_delta' then table.insert(text, delta.text) end
    end
    if #text > 0 and options.on_delta then options.on_delta(table.concat(text)) end
  end, function(outcome)
    if options.on_done then options.on_done(outcome.error, outcome.result) end
  end)
  return { stop = function() turn:stop() end }
end

---@private
---@param options { buffer: integer, first: integer?, last: integer? }
---@return jumpseat.Region
function M._region(options)
  local buf = options.buffer == 0 and vim.api.nvim_get_current_buf() or options.buffer
  local last = options.last or options.first or vim.api.nvim_buf_line_count(buf)
  return require('jumpseat.core.region').lines(buf, options.first or 1, last)
end

---@class jumpseat.EditOptions
---@field instruction string
---@field buffer? integer default: the current one
---@field first? integer the first line, from 1; default: 1
---@field last? integer the last line; default: `first`, or without `first` the last line of the buffer
---@field mode? 'replace'|'before'|'after'|'new' where the new text goes; default: it replaces the lines

--- Let the model rewrite lines of a buffer, or write new text about them. The new text is shown as a diff or, with the mode
--- `new`, written into a new buffer. The event `JumpseatEditEnded` reports that the model has finished or failed.
---@param options jumpseat.EditOptions
function M.edit(options)
  assert(type(options.instruction) == 'string', 'instruction must be a string')
  local target = M._region(vim.tbl_extend('keep', options, { buffer = 0 }))
  require('jumpseat.edit').start(target.buf, target, options.instruction, options.mode)
end

---@class jumpseat.ChatInfo
---@field buffer integer
---@field model? string
---@field state? string `waiting`, `streaming`, `approving` and the like; nil if nothing is running
---@field conversation? string the id of the kept conversation

--- Return the open chats.
---@return jumpseat.ChatInfo[]
function M.chats()
  local transcript, view = require('jumpseat.daemon.transcript'), require('jumpseat.display.view')
  return vim.tbl_map(function(buf)
    local status = view.status(buf)
    local conversation = transcript.find_value(buf, 'conversation')
    return { buffer = buf, model = status.model, state = status.state, conversation = conversation }
  end, require('jumpseat.core.chats').list())
end

--- Fetch the models of all providers, as the daemon's `models/list` describes them.
---@param callback fun(err: jumpseat.Error?, models: table[]?)
function M.models(callback)
  require('jumpseat.daemon.lists').models:get(
    function(err, result) callback(err, result and result.models) end
  )
end

return M
