--- Turns: `chat/start` and `edit/start`, with their deltas delivered at most once per frame.
local client = require('jumpseat.daemon.client')

local M = {}

local FRAME_MS, LONGEST_PAUSE_MS = 16, 250
--- The share of the time that writing and drawing deltas may take. If they take long, as in a chat with much text to
--- highlight, deltas are delivered less often.
local SHARE = 0.25

---@class jumpseat.Outcome
---@field result table? the result of a successful turn
---@field error jumpseat.Error? why the turn failed
---@field cancelled boolean

---@class jumpseat.Turn
---@field id string
---@field private on_deltas fun(deltas: table[])
---@field private on_end fun(outcome: jumpseat.Outcome)
---@field private queued table[]
---@field private scheduled boolean
---@field private pause_ms number the delay before the next deltas are delivered
---@field private begun boolean whether a delta was received
---@field private stopped boolean
local Turn = {}
Turn.__index = Turn

---@type table<string, jumpseat.Turn>
local turns = {}
local count = 0

function Turn:_flush()
  self.scheduled = false
  local queued = self.queued
  if #queued == 0 then return end
  self.queued = {}
  local start_ns = vim.uv.hrtime()
  self.on_deltas(queued)
  -- A deferred function runs after the screen is drawn, so the measured time includes the drawing.
  vim.defer_fn(function()
    local took = (vim.uv.hrtime() - start_ns) / 1e6
    self.pause_ms = math.min(math.max(FRAME_MS, took / SHARE), LONGEST_PAUSE_MS)
  end, 0)
end

---@param outcome jumpseat.Outcome
function Turn:_finish(outcome)
  if not turns[self.id] then return end
  self:_flush()
  turns[self.id] = nil
  self.on_end(outcome)
end

---@param delta table
function Turn:_queue(delta)
  table.insert(self.queued, delta)
  if not self.scheduled then
    self.scheduled = true
    vim.defer_fn(function() self:_flush() end, math.floor(self.pause_ms))
  end
end

---@param delta table
function Turn:_receive(delta)
  self.begun = true
  -- vim.lsp.rpc drops the response of a cancelled request, so a cancelled turn ends with its last delta. Every other turn
  -- ends with its response, which has more details.
  self:_queue(delta)
  if delta.type == 'done' and delta.stopReason == 'cancelled' then
    self:_finish({ cancelled = true, error = delta.error })
  end
end

--- Report progress unrelated to the model's answer, such as loading the local model, in the form of a delta.
---@param value table the value of a `$/progress` notification
function Turn:_report(value)
  local text = value.message or value.title
  if text and value.percentage then text = ('%s %d %%'):format(text, value.percentage) end
  self:_queue({ type = 'progress', text = value.kind ~= 'end' and text or nil })
end

--- Stop the turn. The text received so far stays.
function Turn:stop()
  if self.stopped or not turns[self.id] then return end
  self.stopped = true
  client.request('chat/cancel', { turnId = self.id }, function(err, answer)
    -- A turn that is cancelled before its first delta receives neither a response nor a `done` delta.
    if not err and answer.cancelled and not self.begun then self:_finish({ cancelled = true }) end
    if not err and not answer.cancelled then self.stopped = false end
  end)
end

client.on('chat/delta', function(params)
  local turn = turns[params.turnId]
  if turn then turn:_receive(params.delta) end
end)

client.on('$/progress', function(params)
  local turn = turns[params.token]
  if turn then turn:_report(params.value) end
end)

client.on('end', function(err)
  for _, turn in pairs(vim.tbl_extend('force', {}, turns)) do
    turn:_finish({ cancelled = false, error = err })
  end
end)

--- Start a turn. `on_deltas` is called at most once per frame, `on_end` exactly once.
---@param method 'chat/start'|'edit/start'
---@param params table
---@param on_deltas fun(deltas: table[])
---@param on_end fun(outcome: jumpseat.Outcome)
---@return jumpseat.Turn
function M.start(method, params, on_deltas, on_end)
  count = count + 1
  local turn = setmetatable({
    id = ('nvim-%d-%d-%d'):format(vim.uv.os_getpid(), vim.uv.hrtime(), count),
    on_deltas = on_deltas,
    on_end = on_end,
    queued = {},
    scheduled = false,
    pause_ms = FRAME_MS,
    begun = false,
    stopped = false,
  }, Turn)
  turns[turn.id] = turn
  params = vim.tbl_extend('force', params, { turnId = turn.id, workDoneToken = turn.id })
  client.request(
    method,
    params,
    function(err, result) turn:_finish({ cancelled = false, error = err, result = result }) end
  )
  return turn
end

return M
