--- Shows new text for some lines of a buffer as a diff, which the user accepts or rejects as a whole or hunk by hunk.
local diff = require('jumpseat.edit.diff')
local folds = require('jumpseat.display.folds')
local keys = require('jumpseat.input.keys')
local log = require('jumpseat.core.log')
local region = require('jumpseat.core.region')
local view = require('jumpseat.display.view')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.review')

---@class jumpseat.Review
---@field buf integer
---@field mark integer an extmark that spans the old lines
---@field start integer a second extmark at the row of the first old line; unlike `mark`, it stays there if a redo inserts lines at this row
---@field old string[] the lines as they are in the buffer
---@field new string[] the lines as they will be if all remaining hunks are accepted
---@field states string[][] the versions of `old`: the original, and one for each accepted hunk; an undo or a redo restores one of them
---@field label integer? the mark of the label at the current hunk
---@field labelled integer? the number of that hunk
---@field group integer the augroup that watches the buffer
---@field unmap fun()
---@field on_close fun()

---@type table<integer, jumpseat.Review> by buffer
local reviews = {}

--- Mark the old lines.
---@param review jumpseat.Review
---@param row integer
local function set_marks(review, row)
  local last = math.max(row + #review.old - 1, row)
  local line = vim.api.nvim_buf_get_lines(review.buf, last, last + 1, false)[1] or ''
  review.mark = vim.api.nvim_buf_set_extmark(
    review.buf,
    namespace,
    row,
    0,
    { id = review.mark, end_row = last, end_col = #line, end_right_gravity = false, strict = false }
  )
  review.start =
    vim.api.nvim_buf_set_extmark(review.buf, namespace, row, 0, { id = review.start, right_gravity = false })
end

---@param review jumpseat.Review
---@param mark integer
---@return integer first
---@return integer last inclusive
local function get_rows(review, mark)
  local at = vim.api.nvim_buf_get_extmark_by_id(review.buf, namespace, mark, { details = true })
  return at[1], math.max(at[1], at[3].end_row or at[1])
end

--- Find the old lines in the buffer. After an undo or a redo, they may be the lines of another state.
---@param review jumpseat.Review
---@return integer? row nil if the user has changed the lines
local function find_row(review)
  for _, mark in ipairs({ review.mark, review.start }) do
    local row = get_rows(review, mark)
    for _, state in ipairs({ review.old, unpack(review.states) }) do
      local lines = vim.api.nvim_buf_get_lines(review.buf, row, row + #state, false)
      if vim.deep_equal(lines, state) then
        review.old = state
        set_marks(review, row)
        return row
      end
    end
  end
end

--- Return the number of the hunk at the cursor, else of the first hunk below the cursor, else of the last hunk. If no window
--- shows the buffer, return 1.
---@param review jumpseat.Review
---@param row integer
---@param hunks jumpseat.Hunk[]
---@return integer
local function find_current(review, row, hunks)
  local win = vim.api.nvim_get_current_buf() == review.buf and 0 or vim.fn.bufwinid(review.buf)
  if win == -1 then return 1 end
  local cursor = vim.api.nvim_win_get_cursor(win)[1] - 1
  for number, hunk in ipairs(hunks) do
    if diff.last_row(row, hunk) >= cursor then return number end
  end
  return #hunks
end

--- Show the keys at the current hunk.
---@param review jumpseat.Review
---@param row integer
---@param hunks jumpseat.Hunk[]
local function show_label(review, row, hunks)
  local number = find_current(review, row, hunks)
  if review.label then view.remove_label(review.buf, review.label) end
  local hunk = hunks[number]
  local at = hunk.removed > 0 and row + hunk.row or diff.last_row(row, hunk)
  local line = vim.api.nvim_buf_get_lines(review.buf, at, at + 1, false)[1] or ''
  -- Two spaces precede the label: Neovim adds one, and the text starts with another.
  local width = view.width_of(review.buf) - vim.fn.strdisplaywidth(line) - 2
  review.label = view.show_label(review.buf, at, ' ' .. keys.describe_review(number, #hunks, width))
  review.labelled = number
end

--- Close a review, and remove its diff, label and keys.
---@param buf integer
function M.close(buf)
  local review = reviews[buf]
  if not review then return end
  reviews[buf] = nil
  vim.api.nvim_del_augroup_by_id(review.group)
  if vim.api.nvim_buf_is_loaded(buf) then
    diff.clear(buf)
    if review.label then view.remove_label(buf, review.label) end
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    review.unmap()
  end
  review.on_close()
end

--- Show the remaining hunks. If there are none, close the review.
---@param review jumpseat.Review
---@return integer? row of the first old line; nil if the user has changed the lines, or no hunk remains
---@return jumpseat.Hunk[] hunks
local function refresh(review)
  local row = find_row(review)
  if not row then return nil, {} end
  local hunks = diff.compute_hunks(review.old, review.new)
  if #hunks == 0 then
    M.close(review.buf)
    return nil, {}
  end
  diff.show(review.buf, row, review.old, review.new)
  show_label(review, row, hunks)
  return row, hunks
end

--- Close the review when its buffer is unloaded or read from its file again. Show the hunks again after a change of the text,
--- such as an undo, and after a change of the window's width. Move the label when the cursor gets to another hunk.
---@param review jumpseat.Review
---@return integer group
local function watch_buffer(review)
  local buf = review.buf
  local group = vim.api.nvim_create_augroup('jumpseat.review.' .. buf, {})
  local function on(events, options, callback)
    options.group, options.callback = group, callback
    vim.api.nvim_create_autocmd(events, options)
  end
  on({ 'WinResized', 'VimResized' }, {}, function() refresh(review) end)
  on({ 'TextChanged', 'InsertLeave' }, { buffer = buf }, function() refresh(review) end)
  on('CursorMoved', { buffer = buf }, function()
    local row = get_rows(review, review.mark)
    local hunks = diff.compute_hunks(review.old, review.new)
    if find_current(review, row, hunks) ~= review.labelled then show_label(review, row, hunks) end
  end)
  on({ 'BufReadPre', 'BufUnload' }, { buffer = buf }, function()
    M.close(buf)
    if type(vim.v.exiting) == 'number' then return end
    log.warn('The edit was discarded because its buffer was closed or reloaded.')
  end)
  return group
end

--- Show new text for some lines of a buffer as a diff. A buffer has at most one review.
---@param buf integer
---@param row integer the row of the first old line, counted from 0
---@param old string[] at least one line
---@param new string[]
---@param on_close fun() called once, when the review closes
---@return integer count the number of hunks; if it is 0, no review was opened
function M.open(buf, row, old, new, on_close)
  M.close(buf)
  local hunks = diff.compute_hunks(old, new)
  if #hunks == 0 then return 0 end
  ---@type jumpseat.Review
  local review = { buf = buf, old = old, new = new, states = { old }, on_close = on_close } ---@diagnostic disable-line: missing-fields
  reviews[buf] = review
  set_marks(review, row)
  review.group = watch_buffer(review)
  review.unmap = keys.map_review(buf)
  folds.unfold(buf, row, row + #old - 1)
  diff.show(buf, row, old, new)
  show_label(review, row, hunks)
  return #hunks
end

---@param buf integer
---@return boolean
function M.is_open(buf) return reviews[buf] ~= nil end

--- Return the old lines of a review as a region, or nil if no hunk has been accepted or the user has changed the lines.
---@param buf integer
---@return jumpseat.Region?
function M.locate_if_partly_accepted(buf)
  local review = reviews[buf]
  local row = review and #review.states > 1 and find_row(review)
  return row and region.lines(buf, row + 1, math.max(row + #review.old, row + 1)) or nil
end

--- Show the new text beside a buffer whose old lines the user has changed.
---@param review jumpseat.Review
local function offer_diff(review)
  local first, last = get_rows(review, review.mark)
  local lines = vim.api.nvim_buf_get_lines(review.buf, 0, -1, false)
  local merged = vim.list_slice(lines, 1, first)
  vim.list_extend(merged, review.new)
  vim.list_extend(merged, vim.list_slice(lines, last + 2))
  M.close(review.buf)
  vim.cmd('diffthis')
  vim.cmd('vertical new')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, merged)
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.filetype = 'nofile', 'wipe', vim.bo[review.buf].filetype
  vim.cmd('diffthis')
  log.warn(
    'The lines under review have changed, so nothing was applied. The new text is shown in a diff beside this buffer.'
  )
end

--- Return the review of a buffer, with its row and its hunks. If the hunks cannot be applied, warn and return nil. If the
--- user has changed the lines, also show the new text beside the buffer. If no hunk remains, only return nil.
---@param buf integer
---@return jumpseat.Review? review
---@return integer row
---@return jumpseat.Hunk[] hunks
local function get_applicable(buf)
  local review = reviews[buf]
  if not review then
    log.warn('There is no edit to review in this buffer.')
  elseif not vim.bo[buf].modifiable then
    log.warn("The edit cannot be applied to this buffer: 'modifiable' is off.")
  else
    local row, hunks = refresh(review)
    if row then return review, row, hunks end
    if reviews[buf] then offer_diff(review) end
  end
  return nil, 0, {}
end

--- Accept all remaining hunks, in one undo step.
---@param buf integer
function M.accept(buf)
  local review, row, hunks = get_applicable(buf)
  if not review then return end
  M.close(buf)
  diff.apply(buf, row, hunks)
end

--- Move the cursor to a hunk.
---@param review jumpseat.Review
---@param row integer
---@param hunk jumpseat.Hunk
local function go_to(review, row, hunk)
  if vim.api.nvim_get_current_buf() ~= review.buf then return end
  local line = hunk.removed > 0 and row + hunk.row or diff.last_row(row, hunk)
  vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
end

--- Accept or reject the current hunk (see `find_current`), and go to the hunk below it, else to the last one.
---@param buf integer
---@param is_accepted boolean
function M.settle(buf, is_accepted)
  local review, row, hunks = get_applicable(buf)
  if not review then return end
  local number = find_current(review, row, hunks)
  local hunk = hunks[number]
  local old, new = vim.list_slice(review.old), vim.list_slice(review.new)
  local function splice(lines, offset, removed, added)
    local result = vim.list_slice(lines, 1, offset)
    vim.list_extend(result, added)
    return vim.list_extend(result, vim.list_slice(lines, offset + removed + 1))
  end
  if is_accepted then
    diff.apply(buf, row, { hunk })
    review.old = splice(old, hunk.row, hunk.removed, hunk.lines)
    table.insert(review.states, review.old)
    set_marks(review, row)
  else
    local kept = vim.list_slice(old, hunk.row + 1, hunk.row + hunk.removed)
    review.new = splice(new, hunk.new_start - 1, #hunk.lines, kept)
  end
  local _, rest = refresh(review)
  if #rest == 0 then return end
  go_to(review, row, rest[math.min(number, #rest)])
  show_label(review, row, rest)
end

--- Go to another hunk.
---@param buf integer
---@param step integer 1 for the next one, -1 for the previous one
function M.move(buf, step)
  local review = reviews[buf]
  if not review then return log.warn('There is no edit to review in this buffer.') end
  local row, hunks = refresh(review)
  if not row then
    return log.warn('The lines under review have changed, so the cursor cannot move to a change.')
  end
  local cursor = vim.api.nvim_win_get_cursor(0)[1] - 1
  local ahead = vim.tbl_filter(function(hunk)
    local line = hunk.removed > 0 and row + hunk.row or diff.last_row(row, hunk)
    return (line - cursor) * step > 0
  end, hunks)
  local hunk = step > 0 and ahead[1] or ahead[#ahead]
  if hunk then go_to(review, row, hunk) end
end

return M
