--- Small floating windows.
local M = {}

---@class jumpseat.Float
---@field buf integer
---@field win integer
---@field close fun() closes the window without calling `on_close`

---@class jumpseat.FloatOptions
---@field title? string
---@field footer? string
---@field enter? boolean whether the window becomes the current one; default true
---@field over? integer the window whose last lines the float covers; by default, the float is in the middle of the screen
---@field on_close? fun() called if the user closes the window

--- Show lines in a floating window, which `q` closes.
---@param lines string[]
---@param options? jumpseat.FloatOptions
---@return jumpseat.Float
function M.open(lines, options)
  options = options or {}
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, 'wipe'
  local over = options.over
  local columns = over and vim.api.nvim_win_get_width(over) or vim.o.columns
  local rows = over and vim.api.nvim_win_get_height(over) or vim.o.lines
  local wanted = math.max(
    40,
    vim.fn.strdisplaywidth(options.footer or ''),
    unpack(vim.tbl_map(vim.fn.strdisplaywidth, lines))
  )
  local width = math.max(1, math.min(wanted + 1, columns - 4))
  local win = vim.api.nvim_open_win(buf, options.enter ~= false, {
    relative = over and 'win' or 'editor',
    win = over,
    width = width,
    height = 1,
    col = 0,
    row = 0,
    style = 'minimal',
    border = 'rounded',
    title = (' %s '):format(options.title or 'jumpseat'),
    footer = options.footer and (' %s '):format(options.footer) or nil,
  })
  vim.wo[win].wrap, vim.wo[win].linebreak = true, true
  -- The number of rows that wrapped lines take is known only in a window.
  local height = math.max(1, math.min(vim.api.nvim_win_text_height(win, {}).all, rows - 5))
  vim.api.nvim_win_set_config(win, {
    relative = over and 'win' or 'editor',
    win = over,
    height = height,
    col = math.floor((columns - width) / 2),
    row = over and math.max(0, rows - height - 2) or math.max(0, math.floor((rows - height) / 2) - 1),
  })
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true })
  local is_closed_by_user = true
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = function()
      if is_closed_by_user and options.on_close then vim.schedule(options.on_close) end
    end,
  })
  local function close()
    is_closed_by_user = false
    if vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
  end
  return { buf = buf, win = win, close = close }
end

return M
