--- The open chats, and the buffer that their questions refer to.
local M = {}

---@class jumpseat.Chat
---@field buf integer
---@field preparing (fun())[]? while a question is prepared, the actions to run afterwards; nil at other times
---@field turn jumpseat.Turn?
---@field answer jumpseat.Answer? the answer of `turn`
---@field asked table<integer, string[]> the lines of each question when it was sent, by the index of its message, from 0

---@type table<integer, jumpseat.Chat>
local chats = {}
---@type integer? the buffer that `@buffer` refers to: the last one that is not a chat
local source

---@param buf integer
---@return jumpseat.Chat? chat nil if the buffer is not a chat
function M.get(buf) return chats[buf] end

--- Return the buffers of the open chats.
---@return integer[]
function M.list()
  local buffers = vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.tbl_keys(chats))
  table.sort(buffers)
  return buffers
end

--- Return the buffer that `@buffer` refers to, if it is still loaded.
---@return integer?
function M.source() return source and vim.api.nvim_buf_is_loaded(source) and source or nil end

--- Make `@buffer` refer to this buffer from now on. Ignore chats, buffers that are unlisted or have a 'buftype', and unnamed
--- buffers with at most one line.
---@param buf integer
function M.remember_source(buf)
  local is_file = vim.bo[buf].buftype == '' and vim.bo[buf].buflisted
  local is_empty = vim.api.nvim_buf_get_name(buf) == '' and vim.fn.getbufinfo(buf)[1].linecount <= 1
  if is_file and not is_empty and not chats[buf] then source = buf end
end

local function watch_sources()
  local before = vim.fn.bufnr('#')
  if before > 0 and vim.api.nvim_buf_is_loaded(before) then M.remember_source(before) end
  vim.api.nvim_create_autocmd('BufLeave', {
    group = vim.api.nvim_create_augroup('jumpseat.source', {}),
    callback = function(args) M.remember_source(args.buf) end,
  })
end

---@param buf integer
---@return jumpseat.Chat
function M.add(buf)
  if next(chats) == nil then watch_sources() end
  chats[buf] = { buf = buf, asked = {} }
  return chats[buf]
end

---@param buf integer
function M.remove(buf) chats[buf] = nil end

return M
