--- Reads files that a question refers to, and the image in the clipboard, into blocks of the protocol.
local chats = require('jumpseat.core.chats')
local region = require('jumpseat.core.region')

local M = {}

--- The maximum number of files that a directory or a pattern may add.
local MAX_FILES = 200

--- Patterns for the first bytes of the image types that models accept.
local IMAGES = {
  { '^\137PNG\r\n', 'image/png' },
  { '^\255\216\255', 'image/jpeg' },
  { '^GIF8', 'image/gif' },
  { '^RIFF....WEBP', 'image/webp' },
}

--- Commands that write the image in the clipboard to stdout. The first one whose program is installed is used.
local CLIPBOARD_COMMANDS = {
  { 'wl-paste', '--no-newline', '--type', 'image/png' },
  { 'xclip', '-selection', 'clipboard', '-target', 'image/png', '-out' },
  { 'pngpaste', '-' },
}

--- Return the directory at which relative paths start, with a final slash, or an empty string for the current directory.
--- With 'autochdir', the current directory is the chat's: then return the directory of the file that the question is about.
---@return string
function M.directory()
  local source = vim.o.autochdir and chats.source()
  local name = source and vim.api.nvim_buf_get_name(source) or ''
  return name ~= '' and vim.fs.dirname(name) .. '/' or ''
end

---@param path string
---@return string
function M.to_absolute(path)
  path = vim.fs.normalize(path)
  if not path:find('^/') and not path:find('^%a:') then path = M.directory() .. path end
  return vim.fn.fnamemodify(path, ':p')
end

---@param head string?
---@return string? media_type
local function find_image_type(head)
  local image = vim.iter(IMAGES):find(function(each) return head and head:find(each[1]) ~= nil end)
  return image and image[2]
end

---@param path string
---@param name string the absolute path
---@return string? text nil if the file is not read
---@return string? media_type the type of an image
---@return string? reason why the file is not read
local function read_bytes(path, name)
  local file = io.open(name, 'rb')
  if not file then return end
  -- For a directory, whose size is meaningless, `head` is nil.
  local head = file:read(16)
  local media_type = find_image_type(head)
  local reason = head and not media_type and region.check_size(path, file:seek('end')) or nil
  file:seek('set')
  local text = not reason and file:read('*a') or nil
  file:close()
  return text, media_type, reason
end

--- Return the block of a file: an image or a text. The text comes from the file's buffer if the file is open, or else from
--- disk. The daemon decides whether a model accepts an image.
---@param path string
---@param name string the absolute path
---@return string? reason why there is no block
---@return table? block
local function read_file(path, name)
  local text, media_type, reason = read_bytes(path, name)
  if reason then return reason end
  if text and media_type then
    return nil, { type = 'image', source = vim.base64.encode(text), mediaType = media_type }
  end
  if text and text:find('\0', 1, true) then
    return ('The file %s is neither text nor an image (PNG, JPEG, GIF or WebP).'):format(path)
  end
  local buf = vim.iter(vim.api.nvim_list_bufs()):find(
    function(each) return vim.api.nvim_buf_is_loaded(each) and vim.api.nvim_buf_get_name(each) == name end
  )
  if buf then
    local refusal = region.check_size(path, region.size_of_buffer(buf))
    return refusal, not refusal and region.block(region.whole(buf)) or nil
  end
  if not text then return ('The file %s cannot be read.'):format(path) end
  local language = vim.filetype.match({ filename = name })
  local uri = vim.uri_from_fname(name)
  return nil, { type = 'context', text = text:gsub('\r', ''), uri = uri, languageId = language }
end

--- List the files in a directory and its subdirectories, without hidden files and directories. Stop at one file more than
--- `read_files` accepts.
---@param directory string
---@return string[]
local function list_files(directory)
  local found = {}
  local function is_shown(name) return not vim.fs.basename(name):find('^%.') end
  for name, type in vim.fs.dir(directory, { depth = 20, skip = is_shown }) do
    if type == 'file' and is_shown(name) then table.insert(found, vim.fs.joinpath(directory, name)) end
    if #found > MAX_FILES then break end
  end
  table.sort(found)
  return found
end

--- Read several files. Leave out images and files that cannot be read, are too large or are not text.
---@param path string the directory or pattern
---@param names string[]
---@return string? reason
---@return table[]? blocks
local function read_files(path, names)
  if #names > MAX_FILES then
    return ('%s has more than %d files. Name a part of it.'):format(path, MAX_FILES)
  end
  local blocks = {}
  for _, name in ipairs(names) do
    local _, block = read_file(name, name)
    if block and block.text then table.insert(blocks, block) end
  end
  if #blocks == 0 then return ('%s has no text files.'):format(path) end
  return nil, blocks
end

--- Read a file, the files of a directory, or those that match a pattern.
---@param path string
---@return string? reason why there are no blocks
---@return table[]? blocks
function M.read(path)
  local name = M.to_absolute(path)
  if vim.fn.isdirectory(name) == 1 then return read_files(path, list_files(name:gsub('/$', ''))) end
  if not vim.uv.fs_stat(name) and path:find('[*?%[]') then
    local names = vim.tbl_filter(
      function(each) return vim.fn.isdirectory(each) == 0 end,
      vim.fn.glob(name, false, true)
    )
    if #names == 0 then return ('No file matches %s.'):format(path) end
    return read_files(path, names)
  end
  local reason, block = read_file(path, name)
  return reason, block and { block }
end

--- Read the image in the clipboard.
---@param callback jumpseat.ContextCallback
function M.read_clipboard_image(callback)
  local command = vim.iter(CLIPBOARD_COMMANDS):find(function(each) return vim.fn.executable(each[1]) == 1 end)
  if not command then return callback('@clipboard: there is no text in the clipboard.') end
  vim.system(command, {}, function(result)
    vim.schedule(function()
      local media_type = find_image_type(result.stdout)
      if not media_type then
        return callback('@clipboard: there is neither text nor an image in the clipboard.')
      end
      callback(nil, { { type = 'image', source = vim.base64.encode(result.stdout), mediaType = media_type } })
    end)
  end)
end

return M
