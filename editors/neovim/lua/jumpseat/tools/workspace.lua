--- Answers the daemon's requests about unsaved buffers, so that tools read and change the text of a buffer instead of its file.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')

local M = {}

--- Return the folder that the file tools may use: the current directory or, with 'autochdir', the directory of the file
--- that the question is about.
---@return string
function M.folder()
  local source = vim.o.autochdir and chats.source()
  local name = source and vim.api.nvim_buf_get_name(source) or ''
  return name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
end

---@param buf integer
---@return string
local function text_of(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
  return vim.bo[buf].endofline and text .. '\n' or text
end

--- Whether a buffer has a file name and unsaved changes.
---@param buf integer
---@return boolean
local function is_unsaved(buf)
  local options = vim.bo[buf]
  return vim.api.nvim_buf_is_loaded(buf)
    and options.modified
    and options.buftype == ''
    and vim.api.nvim_buf_get_name(buf) ~= ''
end

--- Return the path of a file with all links resolved, because the daemon resolves them too.
---@param path string
---@return string
local function resolve(path) return vim.uv.fs_realpath(path) or vim.fs.normalize(path) end

client.handle('workspace/unsaved', function(params)
  local documents = {}
  local wanted = vim.tbl_map(function(uri) return resolve(vim.uri_to_fname(uri)) end, params.uris or {})
  for _, buf in ipairs(vim.tbl_filter(is_unsaved, vim.api.nvim_list_bufs())) do
    if not params.uris or vim.list_contains(wanted, resolve(vim.api.nvim_buf_get_name(buf))) then
      local version = vim.api.nvim_buf_get_changedtick(buf)
      table.insert(documents, { uri = vim.uri_from_bufnr(buf), version = version, text = text_of(buf) })
    end
  end
  return { documents = documents }
end)

--- Return the buffer of a change, or nil and the reason why the change is refused.
---@param change { textDocument: { uri: string, version: integer? }, edits: table[] }
---@return integer? buf
---@return string? reason
local function find_target(change)
  local uri, version = change.textDocument.uri, change.textDocument.version
  local buf = vim.iter(vim.api.nvim_list_bufs()):find(
    function(each) return vim.api.nvim_buf_is_loaded(each) and vim.uri_from_bufnr(each) == uri end
  )
  if not buf then return nil, uri .. ' is not open.' end
  if version ~= vim.api.nvim_buf_get_changedtick(buf) then return nil, uri .. ' has changed.' end
  if not vim.bo[buf].modifiable then
    return nil, ("%s cannot be changed: 'modifiable' is off."):format(uri)
  end
  return buf
end

client.handle('workspace/applyEdit', function(params)
  local targets = {}
  for index, change in ipairs(params.edit.documentChanges) do
    local buf, reason = find_target(change)
    if not buf then return { applied = false, failureReason = reason } end
    targets[index] = buf
  end
  for index, change in ipairs(params.edit.documentChanges) do
    local buf = targets[index]
    -- Setting this option ends the undo step of the user's own changes, even in Insert mode.
    vim.bo[buf].undolevels = vim.bo[buf].undolevels
    vim.lsp.util.apply_text_edits(change.edits, buf, 'utf-16')
  end
  return { applied = true }
end)

return M
