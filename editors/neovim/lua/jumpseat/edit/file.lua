--- Finds the file that a code block of a chat is about: by a path in its fence, its first line or the text above it, or else
--- by similarity.
local files = require('jumpseat.input.files')
local place = require('jumpseat.edit.place')
local region = require('jumpseat.core.region')

local M = {}

--- The maximum number of lines above a block that are searched for the name of the block's file.
local MOST_LABELS = 2

---@class jumpseat.BlockFile
---@field name string the absolute path of the file, which may not exist yet
---@field lines string[] the lines of the block, without a line that only names the file

--- Whether a word can be a path. A model may also write a URL, which Neovim would pass to a plug-in instead of reading a file.
---@param word string
---@return boolean
local function is_path(word) return word:find('^%a:[/\\]') ~= nil or not word:find(':[/\\]') end

--- Return the words of a line that look like paths, without quotes and Markdown marks.
---@param line string
---@return string[]
local function list_paths(line)
  local words = {}
  for word in line:gmatch('[^%s`*"\'()<>,;=]+') do
    -- Remove a language before the path, such as `python:`, and a line number after it, such as `:12` or `#L12-20`.
    word = word:gsub('^%a+:([^/\\])', '%1'):gsub('[:#]L?%d[%d-]*$', ''):gsub('[:.]+$', '')
    if is_path(word) and (word:find('%.%w+$') or word:find('/', 1, true)) then table.insert(words, word) end
  end
  return words
end

--- Return the files that the chat contains as context, and those that are open.
---@param block jumpseat.CodeBlock
---@return string[]
local function list_known(block)
  local names = {}
  for _, line in ipairs(block.above) do
    local uri = line:match('^```+context .*uri=(file:%S+)')
    if uri then names[vim.uri_to_fname(uri)] = true end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and name ~= ''
    if is_file and vim.bo[buf].filetype ~= 'jumpseat' then names[name] = true end
  end
  return vim.tbl_keys(names)
end

---@param path string
---@param known string[]
---@return string? name nil if there is no such file
local function find_existing(path, known)
  local name = files.to_absolute(path)
  if vim.fn.filereadable(name) == 1 then return name end
  local wanted = '/' .. vim.fs.normalize(path):gsub('^%./', '')
  return vim.iter(known):find(function(each) return vim.endswith(vim.fs.normalize(each), wanted) end)
end

--- Return the file that one of these lines names.
---@param lines string[]
---@param known string[]
---@param may_be_new boolean whether to accept a file that does not exist yet
---@return string?
local function find_named(lines, known, may_be_new)
  for _, line in ipairs(lines) do
    local paths = list_paths(line)
    for _, path in ipairs(paths) do
      local name = find_existing(path, known)
      if name then return name end
    end
    if may_be_new and paths[1] then return files.to_absolute(paths[1]) end
  end
end

--- Return the path in a comment line that contains nothing else, except perhaps the word `file` in front of the path.
---@param line string
---@return string?
local function find_in_comment(line)
  local text = line:match('^%s*[-#/;%%<!*"]+%s*(.-)%s*[-*/>]*$')
  local paths = text and list_paths(text) or {}
  local rest = paths[1] and text:gsub(vim.pesc(paths[1]), '', 1) or text
  return #paths == 1 and rest:lower():match('^[%s:]*f?i?l?e?[%s:]*$') and paths[1] or nil
end

--- Return the lines above a block that may name its file, nearest first. Skip blank lines, and stop at another block.
---@param block jumpseat.CodeBlock
---@return string[]
local function list_labels(block)
  local labels = {}
  for number = #block.above, 1, -1 do
    local line = block.above[number]
    if line:find('^[%s>]*[`~][`~][`~]') or #labels == MOST_LABELS then break end
    if line:find('%S') then table.insert(labels, line) end
  end
  return labels
end

--- Return the lines of a file from its buffer, or else from disk.
---@param name string
---@return string[]
local function read_lines(name)
  local buf = vim.iter(vim.api.nvim_list_bufs()):find(
    function(each) return vim.api.nvim_buf_is_loaded(each) and vim.api.nvim_buf_get_name(each) == name end
  )
  if buf then return vim.api.nvim_buf_get_lines(buf, 0, -1, false) end
  local size = (vim.uv.fs_stat(name) or {}).size
  if not size or region.check_size(name, size) then return {} end
  return vim.fn.readfile(name)
end

--- Return the file that is most similar to a block.
---@param lines string[]
---@param known string[]
---@return string?
local function find_similar(lines, known)
  local best, score
  for _, name in ipairs(known) do
    local found = place.find(lines, read_lines(name))
    if found and (not score or found.score > score) then
      best, score = name, found.score
    end
  end
  return best
end

--- Find the file of a code block.
---@param block jumpseat.CodeBlock
---@return jumpseat.BlockFile? found nil if nothing names a file and no known file is similar
function M.find(block)
  local known = list_known(block)
  -- The first word is the language, which a path may follow (`python:src/a.py`), unless the fence starts with a path.
  local language, words = block.info:match('^([%w+#-]*)[%s:]*(.-)$')
  if language and block.info:find('^[%w_-]*[./]') then words = block.info end
  local name = words and words ~= '' and find_named({ words }, known, true)
  if name then return { name = name, lines = block.lines } end
  local path = find_in_comment(block.lines[1])
  if path and #block.lines > 1 then
    local lines = vim.list_slice(block.lines, 2)
    while #lines > 1 and not lines[1]:find('%S') do
      table.remove(lines, 1)
    end
    return { name = find_existing(path, known) or files.to_absolute(path), lines = lines }
  end
  local labels = list_labels(block)
  -- If the nearest line consists of a path and nothing else, accept a file that does not exist yet.
  local is_title = labels[1] ~= nil and labels[1]:find('^[%s#*`]*[^%s`*]+[%s*`:]*$') ~= nil
  name = find_named(labels, known, false) or (is_title and find_named({ labels[1] }, known, true))
  name = name or find_similar(block.lines, known)
  return name and { name = name, lines = block.lines } or nil
end

--- Find the file for a path from a patch, or from the argument of `:Jumpseat apply`.
---@param block jumpseat.CodeBlock
---@param path string
---@return string? name the absolute path of the file, which may not exist yet; nil if `path` looks like a URL
function M.resolve(block, path)
  if not is_path(path) then return end
  return find_existing(path, list_known(block)) or files.to_absolute(path)
end

return M
