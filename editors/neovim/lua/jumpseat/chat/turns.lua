--- Moves between the turns of a chat, asks questions again, and switches between the resulting variants.
local chat = require('jumpseat.chat')
local chats = require('jumpseat.core.chats')
local log = require('jumpseat.core.log')
local transcript = require('jumpseat.daemon.transcript')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.turns')

---@class jumpseat.Tail a question with everything below it
---@field lines string[]
---@field branches { offset: integer, branch: jumpseat.Branch }[] the branches below, with their distances in lines from the heading

---@class jumpseat.Branch a question whose text and everything below it exist in several variants
---@field mark integer the mark at the question's heading
---@field tails (jumpseat.Tail|false)[] false for a variant whose text exists only in the buffer
---@field current integer
---@field label integer?

---@type table<integer, jumpseat.Branch[]> by buffer
local branches = {}

--- Parse a chat, and call `continue` unless the chat has changed meanwhile.
---@param buf integer
---@param continue fun(parsed: jumpseat.Parsed)
local function parse(buf, continue)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  transcript.parse(transcript.text(buf), function(err, parsed)
    if err then return log.error(err) end
    if vim.api.nvim_buf_is_loaded(buf) and tick == vim.api.nvim_buf_get_changedtick(buf) then
      continue(parsed)
    end
  end)
end

--- Whether a buffer is a chat whose turns can be changed now. Warns if it is not.
---@param buf integer
---@return boolean
local function check_chat(buf)
  if not chats.get(buf) then
    log.warn('This buffer is not a chat.')
  elseif chat.is_running(buf) then
    log.warn('An answer is being written; :Jumpseat stop stops it.')
  elseif not vim.bo[buf].modifiable then
    log.warn("The chat cannot be changed: 'modifiable' is off.")
  else
    return true
  end
  return false
end

---@param win integer
---@param buf integer
---@return boolean
local function shows(win, buf) return vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf end

--- Move the cursor to the heading of another turn.
---@param buf integer
---@param step integer 1 for the next one, -1 for the previous one
function M.move(buf, step)
  local win = vim.api.nvim_get_current_win()
  parse(buf, function(parsed)
    if not shows(win, buf) then return end
    local line = vim.api.nvim_win_get_cursor(win)[1]
    local rows = vim.tbl_map(function(section) return section.startLine + 1 end, parsed.turns)
    local ahead = vim.tbl_filter(function(row) return (row - line) * step > 0 end, rows)
    local target = step > 0 and ahead[1] or ahead[#ahead]
    if not target then return end
    vim.api.nvim_win_call(win, function() vim.cmd("normal! m'") end)
    vim.api.nvim_win_set_cursor(win, { target, 0 })
  end)
end

--- Find the last question at or above a row, or else the first question. Return the number of its section, from 1.
---@param parsed jumpseat.Parsed
---@param row integer from 0
---@return integer?
local function find_question(parsed, row)
  local found
  for number, section in ipairs(parsed.turns) do
    local is_question = section.role == 'user' and section.message
    if is_question and (not found or section.startLine <= row) then found = number end
  end
  return found
end

---@param buf integer
---@param branch jumpseat.Branch
---@return integer row from 0
local function row_of(buf, branch)
  return vim.api.nvim_buf_get_extmark_by_id(buf, namespace, branch.mark, {})[1]
end

---@param buf integer
---@param row integer
---@return integer mark
local function set_mark(buf, row)
  return vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { right_gravity = false })
end

---@param buf integer
---@param branch jumpseat.Branch
local function show_label(buf, branch)
  if branch.label then view.remove_label(buf, branch.label) end
  local text = ('variant %d of %d'):format(branch.current, #branch.tails)
  branch.label = view.show_label(buf, row_of(buf, branch), text)
end

--- Return the branches below a row, after removing their marks and labels from the buffer.
---@param buf integer
---@param row integer
---@return { offset: integer, branch: jumpseat.Branch }[]
local function detach_below(buf, row)
  local kept, detached = {}, {}
  for _, branch in ipairs(branches[buf] or {}) do
    local at = row_of(buf, branch)
    if at > row then
      vim.api.nvim_buf_del_extmark(buf, namespace, branch.mark)
      if branch.label then view.remove_label(buf, branch.label) end
      table.insert(detached, { offset = at - row, branch = branch })
    else
      table.insert(kept, branch)
    end
  end
  branches[buf] = kept
  return detached
end

--- Store a tail as the current variant. After an undo, it may equal a variant that is already stored. That variant then
--- becomes the current one, and the variant that was undone is dropped.
---@param branch jumpseat.Branch
---@param tail jumpseat.Tail
local function store(branch, tail)
  for number, each in ipairs(branch.tails) do
    if each and vim.deep_equal(each.lines, tail.lines) then
      -- A variant without a stored text is always the last one, which `regenerate` has added.
      if not branch.tails[#branch.tails] then table.remove(branch.tails) end
      branch.current = number
      return
    end
  end
  branch.tails[branch.current] = tail
end

---@param buf integer
---@param row integer
---@return jumpseat.Branch
local function find_or_create_branch(buf, row)
  branches[buf] = branches[buf] or {}
  local found = vim.iter(branches[buf]):find(function(branch) return row_of(buf, branch) == row end)
  if found then return found end
  local branch = { mark = set_mark(buf, row), tails = { false }, current = 1 }
  table.insert(branches[buf], branch)
  return branch
end

--- Return the question as it was last sent, and everything below it. If the sent text is unknown, use the current text.
---@param buf integer
---@param section jumpseat.Section
---@return string[]
local function collect_tail(buf, section)
  local question = chats.get(buf).asked[section.message]
  local lines = question and vim.list_extend(vim.list_slice(question), { '' })
    or vim.api.nvim_buf_get_lines(buf, section.startLine, section.endLine, false)
  return vim.list_extend(lines, vim.api.nvim_buf_get_lines(buf, section.endLine, -1, false))
end

--- Ask the question of the turn at the cursor again. The question as it was last sent, and everything below it, become a
--- variant.
---@param buf integer
function M.regenerate(buf)
  if not check_chat(buf) then return end
  local win = vim.api.nvim_get_current_win()
  local row = vim.api.nvim_win_get_cursor(win)[1] - 1
  parse(buf, function(parsed)
    local number = find_question(parsed, row)
    if not number then return log.warn('There is no question to ask again.') end
    local section = parsed.turns[number]
    local has_answer = vim.iter(parsed.turns):skip(number):any(function(each) return each.message ~= nil end)
    if has_answer then
      local branch = find_or_create_branch(buf, section.startLine)
      local lines = collect_tail(buf, section)
      store(branch, { lines = lines, branches = detach_below(buf, section.startLine) })
      table.insert(branch.tails, false)
      branch.current = #branch.tails
      vim.api.nvim_buf_set_lines(buf, section.endLine, -1, false, {})
      show_label(buf, branch)
    end
    if shows(win, buf) then vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 }) end
    chat.send(buf)
  end)
end

--- Show another variant of the turn at the cursor, or else of the nearest turn above the cursor that has variants.
---@param buf integer
---@param step integer 1 for the next variant, -1 for the previous one
function M.switch(buf, step)
  if not check_chat(buf) then return end
  local line, found = vim.api.nvim_win_get_cursor(0)[1], nil
  for _, branch in ipairs(branches[buf] or {}) do
    local row = row_of(buf, branch)
    if row < line and (not found or row > row_of(buf, found)) then found = branch end
  end
  if not found then return log.notify('There are no variants here. :Jumpseat regenerate makes one.') end
  local row = row_of(buf, found)
  local lines = vim.api.nvim_buf_get_lines(buf, row, -1, false)
  store(found, { lines = lines, branches = detach_below(buf, row) })
  found.current = (found.current - 1 + step) % #found.tails + 1
  local tail = found.tails[found.current] --[[@as jumpseat.Tail]]
  view.clear_messages(buf)
  vim.api.nvim_buf_set_lines(buf, row, -1, false, tail.lines)
  for _, each in ipairs(tail.branches) do
    each.branch.mark = set_mark(buf, row + each.offset)
    table.insert(branches[buf], each.branch)
    show_label(buf, each.branch)
  end
  show_label(buf, found)
  vim.api.nvim_win_set_cursor(0, { row + 1, 0 })
  chat.fold(buf)
end

--- The branches of unloaded buffers. Each is stored with the text from its row to the end of the buffer, to find out whether
--- that text is still the same when the buffer is loaded again.
---@type table<integer, { row: integer, lines: string[], branch: jumpseat.Branch }[]>
local unloaded = {}

---@param buf integer
local function remember_branches(buf)
  unloaded[buf] = vim.tbl_map(function(branch)
    local row = row_of(buf, branch)
    return { row = row, lines = vim.api.nvim_buf_get_lines(buf, row, -1, false), branch = branch }
  end, branches[buf] or {})
  branches[buf] = nil
end

--- Restore the branches of a buffer that has been loaded again, except those whose text has changed.
---@param buf integer
local function restore_branches(buf)
  for _, each in ipairs(unloaded[buf] or {}) do
    if vim.deep_equal(vim.api.nvim_buf_get_lines(buf, each.row, -1, false), each.lines) then
      each.branch.mark, each.branch.label = set_mark(buf, each.row), nil
      branches[buf] = vim.list_extend(branches[buf] or {}, { each.branch })
      show_label(buf, each.branch)
    end
  end
  unloaded[buf] = nil
end

local group = vim.api.nvim_create_augroup('jumpseat.turns', {})
local function on(event, callback)
  vim.api.nvim_create_autocmd(event, { group = group, callback = function(args) callback(args.buf) end })
end
on('BufUnload', function(buf)
  if branches[buf] then remember_branches(buf) end
end)
on('BufReadPost', restore_branches)
on('BufWipeout', function(buf) unloaded[buf] = nil end)

return M
