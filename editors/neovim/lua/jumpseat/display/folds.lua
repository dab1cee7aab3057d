--- Folds the long parts of a chat: thinking, calls of tools with their results, context and images.
local M = {}

local FOLDED = { image = true, context = true, tool_use = true, tool_result = true }
local LONGEST_VALUE = 40
local namespace = vim.api.nvim_create_namespace('jumpseat.folds')
--- The symbols of calls that have ended, as on the command line.
local SYMBOLS = { completed = '✓', failed = '✗', denied = '✗' }

---@class jumpseat.Block a fenced block of a transcript
---@field kind string
---@field info table<string, string>
---@field first integer the line of the opening fence, from 1
---@field last integer the line of the closing fence

--- Read the `key=value` pairs of an info string. A value may be a JSON string.
---@param text string
---@return table<string, string>
local function read_info(text)
  local info, at = {}, 1
  while true do
    local _, stop, key = text:find('^%s*([%w_]+)=', at)
    if not stop then return info end
    local plain = text:match('^[^%s"]+', stop + 1)
    local quoted = not plain and text:match('^".-[^\\]"', stop + 1)
    local decoded, value = pcall(vim.json.decode, quoted or '""')
    info[key] = plain or (decoded and value) or ''
    at = stop + 1 + #(plain or quoted or '')
  end
end

--- Return the foldable fenced blocks in these lines of a chat.
---@param buf integer
---@param first integer from 0
---@param last integer exclusive
---@return jumpseat.Block[]
function M.find_blocks(buf, first, last)
  local blocks, open, closing = {}, nil, nil
  for offset, line in ipairs(vim.api.nvim_buf_get_lines(buf, first, last, false)) do
    if open and line == closing then
      open.last = first + offset
      table.insert(blocks, open)
      open = nil
    elseif not open then
      local fence, kind, rest = line:match('^(```+)([%l_]+)(.*)$')
      if fence and FOLDED[kind] and (rest == '' or rest:find('^%s')) then
        open, closing = { kind = kind, info = read_info(rest), first = first + offset }, fence
      end
    end
  end
  return blocks
end

--- Fold lines in a window, unless the first line is already in more than `level` folds.
---@param win integer
---@param first integer from 1
---@param last integer
---@param level integer 0, or 1 if the new fold may contain an older fold of its first lines
local function fold_in(win, first, last, level)
  vim.api.nvim_win_call(win, function()
    if vim.fn.foldlevel(first) > level then return end
    pcall(vim.cmd, ('%d,%dfold'):format(first, last))
  end)
end

--- Fold lines in every window that shows the buffer.
---@param buf integer
---@param first integer from 0
---@param last integer from 0, inclusive
function M.fold(buf, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    fold_in(win, first + 1, last + 1, 0)
  end
end

--- Fold the blocks in these lines, in one window. A call and the result that follows it become one fold.
---@param win integer
---@param first integer from 0
---@param last integer exclusive
local function fold_blocks_in(win, first, last)
  local call
  for _, block in ipairs(M.find_blocks(vim.api.nvim_win_get_buf(win), first, last)) do
    if
      call
      and block.kind == 'tool_result'
      and block.info.id == call.info.id
      and block.first == call.last + 2
    then
      fold_in(win, call.first, block.last, 1)
    else
      fold_in(win, block.first, block.last, 0)
    end
    call = block.kind == 'tool_use' and block or nil
  end
end

--- Fold the blocks in these lines, in every window that shows the chat.
---@param buf integer
---@param first integer from 0
---@param last integer exclusive; -1 for the end of the chat
function M.fold_blocks(buf, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    fold_blocks_in(win, first, last)
  end
end

--- Replace the folds of a window: fold the thinking and the blocks of the chat's current text.
---@param win integer
---@param parsed jumpseat.Parsed
function M.fold_all(win, parsed)
  vim.api.nvim_win_call(win, function() vim.cmd('normal! zE') end)
  for _, section in ipairs(parsed.turns) do
    for _, range in ipairs(section.thinking or {}) do
      fold_in(win, range.startLine + 1, range.endLine, 0)
    end
  end
  fold_blocks_in(win, 0, -1)
end

--- Open the folds that contain these lines, in every window that shows the buffer.
---@param buf integer
---@param first integer from 0
---@param last integer from 0, inclusive
function M.unfold(buf, first, last)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function() vim.cmd(('silent! %d,%dfoldopen!'):format(first + 1, last + 1)) end)
  end
end

---@class jumpseat.CallStatus
---@field status string
---@field detail string?
---@field mark integer? the label at the call

---@type table<integer, table<string, jumpseat.CallStatus>> by buffer and the call's id
local statuses = {}

--- Set the status of a call. The closed fold of the call shows the status. If the fold is open, a label shows it.
---@param buf integer
---@param id string the call's id
---@param status string
---@param detail string?
function M.set_status(buf, id, status, detail)
  if not vim.api.nvim_buf_is_loaded(buf) then return end
  statuses[buf] = statuses[buf] or {}
  local known = statuses[buf][id] or {}
  statuses[buf][id] = known
  known.status, known.detail = status, detail
  local pattern = [[\V\^```\+tool_use id=]] .. vim.fn.escape(id, [[\]]) .. [[\m\>]]
  local line = vim.api.nvim_buf_call(buf, function() return vim.fn.search(pattern, 'bnwc') end)
  if line == 0 then return end
  -- Setting the mark also makes Neovim draw the fold again.
  local options = { id = known.mark, virt_text = { { status, 'JumpseatLabel' } }, undo_restore = false }
  known.mark = vim.api.nvim_buf_set_extmark(buf, namespace, line - 1, 0, options)
end

---@param buf integer
function M.forget(buf) statuses[buf] = nil end

---@param count integer
---@param noun string
---@return string
local function count_of(count, noun) return ('%d %s%s'):format(count, noun, count == 1 and '' or 's') end

--- Return a text in one line without control characters, shortened.
---@param text string
---@return string
local function shorten(text)
  text = text:gsub('%c+', ' ')
  if vim.fn.strchars(text) <= LONGEST_VALUE then return text end
  return vim.fn.strcharpart(text, 0, LONGEST_VALUE - 1) .. '…'
end

--- Return the path of a file's URI for display, abbreviated if it is long. Return any other URI unchanged.
---@param uri string
---@return string
local function shorten_uri(uri)
  if not vim.startswith(uri, 'file:') then return uri end
  local path = vim.fn.fnamemodify(vim.uri_to_fname(uri), ':~:.')
  return vim.fn.strchars(path) > LONGEST_VALUE and vim.fn.pathshorten(path) or path
end

--- Describe a call: the tool and its arguments, as on the command line.
---@param name string the name that the model uses
---@param json string the arguments
---@return string
local function summarize_call(name, json)
  local parts = { (name:gsub('__', '/', 1)) }
  local decoded, arguments = pcall(vim.json.decode, json)
  for key, value in vim.spairs(decoded and type(arguments) == 'table' and arguments or {}) do
    local text = type(value) == 'string' and value or vim.json.encode(value)
    table.insert(parts, ('%s=%s'):format(key, shorten(text)))
  end
  return table.concat(parts, ' ')
end

---@param result jumpseat.Block
---@return string symbol
---@return string summary
local function describe_result(result)
  local lines = vim.fn.getline(result.first + 1, result.last - 1) --[[@as string[] ]]
  if result.info.is_error == 'true' then return SYMBOLS.failed, shorten(lines[1] or '') end
  return SYMBOLS.completed, count_of(lines[#lines] == '' and #lines - 1 or #lines, 'line')
end

--- Functions that return the text of a fold, by the kind of the fold's first block.
---@type table<string, fun(block: jumpseat.Block, result: jumpseat.Block?): string>
local DESCRIPTIONS = {
  image = function(block)
    return ('Image (%d kB)'):format(math.ceil(#vim.fn.getline(block.first + 1) * 3 / 4 / 1024))
  end,
  context = function(block)
    local bytes = vim.fn.line2byte(block.last) - vim.fn.line2byte(block.first + 1) - 1
    local size = bytes < 1000 and ('%d bytes'):format(bytes) or ('%.1f kB'):format(bytes / 1000)
    local uri, first, last = block.info.uri, (block.info.range or ''):match('^(%d+):%d+%-(%d+):%d+$')
    local parts = {}
    if uri then table.insert(parts, shorten_uri(uri)) end
    if first and tonumber(last) > 0 then
      local is_one = first + 1 == tonumber(last)
      table.insert(parts, (is_one and 'line %d' or 'lines %d–%d'):format(first + 1, last))
    end
    vim.list_extend(parts, { block.info.label })
    return ('%s (%s)'):format(#parts > 0 and table.concat(parts, ', ') or 'Context', size)
  end,
  tool_use = function(block, result)
    local json = table.concat(vim.fn.getline(block.first + 1, block.last - 1) --[[@as string[] ]], '\n')
    local text = summarize_call(block.info.name or '', json)
    if result then
      local symbol, summary = describe_result(result)
      return ('%s %s · %s'):format(symbol, text, summary)
    end
    local known = (statuses[vim.api.nvim_get_current_buf()] or {})[block.info.id]
    if not known then return text end
    local symbol = SYMBOLS[known.status]
    return (symbol and symbol .. ' ' or '')
      .. text
      .. ' · '
      .. known.status
      .. (known.detail and ': ' .. known.detail or '')
  end,
  tool_result = function(block)
    local symbol, summary = describe_result(block)
    return ('%s Result · %s'):format(symbol, summary)
  end,
}

--- Return the text of the fold that is being drawn.
---@return string
function M.foldtext()
  local first, last = vim.v.foldstart, vim.v.foldend
  local blocks = M.find_blocks(vim.api.nvim_get_current_buf(), first - 1, last)
  if blocks[1] then return '▸ ' .. DESCRIPTIONS[blocks[1].kind](blocks[1], blocks[2]) end
  -- The markup takes four lines: the two `<details>` tags, a blank line after the first, and one before the second.
  return ('▸ Thinking (%s)'):format(count_of(math.max(1, last - first + 1 - 4), 'line'))
end

return M
