--- Writes an answer into a chat buffer. The daemon's deltas contain the lines of the transcript.
local folds = require('jumpseat.display.folds')
local region = require('jumpseat.core.region')
local view = require('jumpseat.display.view')
local writer = require('jumpseat.display.writer')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.answer')

---@class jumpseat.Answer
---@field buf integer
---@field private writer jumpseat.Writer
---@field private heading string the heading with its blank lines, written before the first block
---@field private written boolean whether text follows the heading
---@field private thinking integer? the mark at the first line of an unfinished thinking block
---@field private mark integer the mark of the label at the heading
---@field model string? the provider and model that answer
---@field usage table?
---@field conversation string? the kept conversation that the turn belongs to
---@field private notices [string, string][] messages below the answer, with their highlight groups
---@field private round integer? the mark above the calls of the last round
---@field private is_round_over boolean? whether that round has a result, so that the next call starts a new round
---@field private is_unkept boolean? whether the daemon could not keep the turn
local Answer = {}
Answer.__index = Answer

--- Start an answer below the last line that has text.
---@param buf integer
---@param heading string
---@return jumpseat.Answer
function M.new(buf, heading)
  local last = math.max(1, region.find_last_line(buf, vim.api.nvim_buf_line_count(buf)))
  local line = vim.api.nvim_buf_get_lines(buf, last - 1, last, false)[1]
  local self = setmetatable({
    buf = buf,
    writer = writer.new(buf, last - 1, #line),
    heading = '\n\n' .. heading .. '\n\n',
    written = false,
    notices = {},
  }, Answer)
  -- Blank lines that stayed here would end up below the answer.
  self.writer:edit(function() vim.api.nvim_buf_set_lines(buf, last, -1, false, {}) end)
  self.writer:append(self.heading)
  self.mark = view.show_label(buf, self:_heading_row(), 'waiting …')
  return self
end

---@private
---@return integer row from 0
function Answer:_heading_row() return self.writer:first_row() + 2 end

---@private
---@param label string
function Answer:_show_label(label)
  self.mark = view.show_label(self.buf, self:_heading_row(), label, self.mark)
end

---@private
function Answer:_fold_thinking()
  if not self.thinking then return end
  local first = vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.thinking, {})[1]
  folds.fold(self.buf, first, self.writer:last_row() - 1)
  self.thinking = nil
end

--- Remember where the calls of this round begin, so that they can be folded with their results.
---@private
---@param delta table
function Answer:_mark_round(delta)
  if delta.type == 'block_done' then self.is_round_over = true end
  if delta.type ~= 'tool_use_done' or (self.round and not self.is_round_over) then return end
  self.is_round_over = false
  local options = { id = self.round }
  self.round = vim.api.nvim_buf_set_extmark(self.buf, namespace, self.writer:last_row(), 0, options)
end

---@private
function Answer:_fold_calls()
  if not self.round then return end
  local first = vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.round, {})[1]
  folds.fold_blocks(self.buf, first, self.writer:last_row() + 1)
end

--- Remember what a delta says about the turn.
---@private
---@param delta table
function Answer:_take_note(delta)
  local type = delta.type
  if type == 'start' then
    self.model = view.changes(delta).model
    self.conversation = delta.conversationId
    if delta.rules and #delta.rules > 0 then
      table.insert(
        self.notices,
        { 'Rules of the workspace: ' .. table.concat(delta.rules, ', '), 'JumpseatLabel' }
      )
    end
  elseif type == 'warning' then
    table.insert(self.notices, { delta.message, 'JumpseatWarning' })
    if delta.code == 'conversation_not_kept' then self.is_unkept = true end
  elseif type == 'citation' and delta.url then
    table.insert(self.notices, { (delta.title and delta.title .. ' ' or '') .. delta.url, 'JumpseatLabel' })
  elseif type == 'usage' then
    self.usage = delta.usage
  end
end

--- The labels at the heading while a block is written, by the delta that starts the block.
local LABELS = { text_start = '…', thinking_start = 'thinking …', tool_use_start = 'calling a tool …' }
--- The deltas after which finished blocks are folded.
local COMPLETE = { thinking_done = true, tool_use_done = true, block_done = true, done = true }

--- Write a batch of deltas in as few changes to the buffer as possible. Thinking and calls are written separately,
--- because they are folded as soon as they are written.
---@param deltas table[]
function Answer:write(deltas)
  if not self.writer:is_valid() then return end
  local text, state = {}, {}
  local function flush()
    self.writer:append(table.concat(text))
    text = {}
  end
  for _, delta in ipairs(deltas) do
    local type = delta.type
    if type == 'response' and self.written then
      -- The provider starts its answer again, so discard the blocks so far.
      flush()
      self.writer:replace(self.heading)
      self.written, self.thinking = false, nil
    end
    if type == 'tool_use_done' or type == 'block_done' then
      flush()
      self:_mark_round(delta)
    end
    if delta.transcript then
      table.insert(text, delta.transcript)
      self.written = true
    end
    state = vim.tbl_extend('force', state, view.changes(delta))
    self:_take_note(delta)
    if LABELS[type] then self:_show_label(LABELS[type]) end
    -- A thinking block that starts while the block above it is unfinished has no text yet, so do not set its mark.
    if type == 'thinking_start' and delta.transcript then
      flush()
      -- Use a mark, because the front matter above may be rewritten meanwhile.
      self.thinking = vim.api.nvim_buf_set_extmark(self.buf, namespace, self.writer:last_row() - 2, 0, {})
    elseif COMPLETE[type] then
      flush()
      self:_fold_thinking()
      self:_fold_calls()
    end
  end
  flush()
  if next(state) then view.update(self.buf, state) end
end

--- Add a message that `close` shows below the answer.
---@param message string
function Answer:add_notice(message) table.insert(self.notices, { message, 'JumpseatWarning' }) end

---@return boolean
function Answer:has_text() return self.written end

--- Whether more of the answer can be written; see `Writer:is_valid`.
---@return boolean
function Answer:is_valid() return self.writer:is_valid() end

--- Stop writing, and leave the text as it is.
function Answer:abandon()
  self.writer.lost = true
  self.writer:close()
  self:_remove_label()
end

---@private
function Answer:_remove_label()
  if vim.api.nvim_buf_is_loaded(self.buf) then view.remove_label(self.buf, self.mark) end
end

--- Remove an answer without text, so that the question can be sent again.
function Answer:remove()
  if not self.writer:is_valid() then return end
  self:_remove_label()
  self.writer:replace('')
end

--- Change the buffer in the undo step of the answer, if the answer is still valid; see `Writer:is_valid`.
---@param change fun()
function Answer:edit(change)
  if self.writer:is_valid() then self.writer:edit(change) end
end

--- Clear 'modified' if the daemon keeps the whole chat and the chat has no file, so that Neovim quits without asking
--- about it.
function Answer:mark_kept()
  if not vim.api.nvim_buf_is_loaded(self.buf) then return end
  local is_kept = self.conversation and not self.is_unkept and self.writer:is_alone()
  if not is_kept or vim.uv.fs_stat(vim.api.nvim_buf_get_name(self.buf)) then return end
  vim.bo[self.buf].modified = false
end

--- End the answer: append `after`, and show the model, the notices and the error.
---@param after string the next question's heading with blank lines, or empty if the answer has no text
---@param err jumpseat.Error?
---@param stopped boolean
function Answer:close(after, err, stopped)
  if not self.writer:is_valid() then return end
  if self.thinking then
    -- The daemon ended before it could close the block.
    self.writer:append('\n\n</details>\n')
    self:_fold_thinking()
  end
  local row = self.writer:last_row()
  self.writer:append(after)
  if after ~= '' then
    local label = view.summary(self.model, self.usage) .. (stopped and ' · stopped' or '')
    view.show_label(self.buf, self:_heading_row(), label, self.mark)
  elseif stopped then
    view.show_below(self.buf, row, 'Stopped before the answer began.', 'JumpseatLabel')
  elseif not err then
    view.show_below(self.buf, row, 'The model returned no text.', 'JumpseatWarning')
  end
  for _, notice in ipairs(self.notices) do
    view.show_below(self.buf, row, notice[1], notice[2])
  end
  if err then view.show_error(self.buf, row, err) end
  self.writer:close()
end

return M
