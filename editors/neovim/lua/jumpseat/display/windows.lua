--- Opens windows for chats.
local M = {}

--- The commands for the positions that the option `window` names.
local COMMANDS = {
  right = 'botright vsplit',
  left = 'topleft vsplit',
  above = 'topleft split',
  below = 'botright split',
  tab = 'tab split',
}
--- The share of the screen's width, and of its height, that a floating chat takes.
local SHARE = 0.8

--- Return the place of a floating chat on the current screen.
---@return vim.api.keyset.win_config
local function place_float()
  local width, height = math.floor(vim.o.columns * SHARE), math.floor(vim.o.lines * SHARE)
  return {
    relative = 'editor',
    width = math.max(1, width),
    height = math.max(1, height),
    col = math.floor((vim.o.columns - width) / 2),
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
  }
end

---@param buf integer
local function open_float(buf)
  local options = vim.tbl_extend('error', place_float(), { border = 'rounded', title = ' jumpseat ' })
  local win = vim.api.nvim_open_win(buf, true, options)
  vim.api.nvim_create_autocmd('VimResized', {
    group = vim.api.nvim_create_augroup('jumpseat.window.' .. win, {}),
    callback = function()
      if not vim.api.nvim_win_is_valid(win) then return true end
      vim.api.nvim_win_set_config(win, place_float())
    end,
  })
end

--- Set the size of the current window, which is a split.
---@param position string
---@param size number columns or lines or, if less than 1, a fraction of the screen
local function resize(position, size)
  local is_wide = position == 'above' or position == 'below'
  local whole = is_wide and vim.o.lines or vim.o.columns
  local cells = math.floor(size < 1 and size * whole or size)
  if is_wide then
    vim.api.nvim_win_set_height(0, cells)
  else
    vim.api.nvim_win_set_width(0, cells)
  end
end

--- Open a window for a chat, and make it the current one.
---@param buf integer
---@param position string a position, or an Ex command that opens a window
---@param size number?
function M.open(buf, position, size)
  if position == 'float' then return open_float(buf) end
  local opened = pcall(vim.cmd, COMMANDS[position] or position)
  -- Use a tab page if there is no room for a window, or if the user has set 'winfixbuf' in this window.
  if not opened or vim.wo.winfixbuf then return vim.cmd('tab split') end
  if size and COMMANDS[position] and position ~= 'tab' then resize(position, size) end
end

--- Close a window or, if it is the last one, show another buffer in it.
---@param win integer
---@param other integer? the buffer to show; nil for a new one
function M.close(win, other)
  if pcall(vim.api.nvim_win_close, win, false) then return end
  vim.api.nvim_win_call(win, function()
    if other then
      vim.api.nvim_win_set_buf(win, other)
    else
      vim.cmd.enew()
    end
  end)
end

return M
