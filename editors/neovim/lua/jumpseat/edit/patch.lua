--- Applies the unified diffs that models write, whose line numbers are often wrong.
local M = {}

---@class jumpseat.Patch
---@field path string? nil if the diff does not name its file
---@field hunks [string, string][][] each line as a pair: its sign (' ', '-' or '+') and its text

--- Whether a code block is a diff.
---@param block jumpseat.CodeBlock
---@return boolean
function M.is_patch(block)
  local language = block.info:match('^%w*')
  return language == 'diff' or language == 'patch'
end

---@param name string
---@return string? path nil for `/dev/null`, which stands for a file that does not exist
local function clean_path(name)
  name = name:gsub('\t.*$', ''):gsub('^[ab]/', '')
  return name ~= '/dev/null' and name or nil
end

--- Remove the blank lines at the end of each hunk, because they only separate the files of a diff. Remove empty hunks.
---@param patches jumpseat.Patch[]
local function trim_hunks(patches)
  for _, patch in ipairs(patches) do
    for _, hunk in ipairs(patch.hunks) do
      while #hunk > 0 and hunk[#hunk][1] == ' ' and hunk[#hunk][2] == '' do
        table.remove(hunk)
      end
    end
    patch.hunks = vim.tbl_filter(function(hunk) return #hunk > 0 end, patch.hunks)
  end
end

--- Parse a diff of one or more files.
---@param lines string[]
---@return jumpseat.Patch[]
function M.parse(lines)
  local patches, hunk = {}, nil
  -- Git's headers, such as `new file mode 100644`, end before the line `--- a/FILE` or the first `@@`.
  local is_in_headers = false
  local function add_patch(path)
    hunk = nil
    table.insert(patches, { path = path, hunks = {} })
  end
  local function add_hunk()
    if #patches == 0 then add_patch() end
    hunk = {}
    table.insert(patches[#patches].hunks, hunk)
  end
  for number, line in ipairs(lines) do
    local old, new = line:match('^%-%-%- (.+)$'), (lines[number + 1] or ''):match('^%+%+%+ (.+)$')
    local is_second_name = line:find('^%+%+%+ ') and (lines[number - 1] or ''):find('^%-%-%- ')
    if old and new then
      is_in_headers = false
      add_patch(clean_path(new) or clean_path(old))
    elseif line:find('^@@') then
      is_in_headers = false
      add_hunk()
    elseif line:find('^diff %-') or line:find('^index %x+%.%.') then
      is_in_headers = true
    elseif not is_in_headers and not is_second_name and not line:find('^\\') then
      if not hunk then add_hunk() end
      local sign = line:match('^[-+]') or ' '
      table.insert(hunk, { sign, line:find('^[-+ ]') and line:sub(2) or line })
    end
  end
  trim_hunks(patches)
  return patches
end

--- Return the line at which the hunk's old lines occur. Search from line `from` to the end of the file, then
--- from the top. White space at the edges of lines is ignored. A hunk without old lines fits only into an empty file.
---@param hunk [string, string][]
---@param file string[]
---@param from integer
---@return integer?
local function find_start(hunk, file, from)
  local old = vim.iter(hunk):filter(function(each) return each[1] ~= '+' end):totable()
  if #old == 0 then return #file == 0 and 1 or nil end
  local function fits(start)
    for offset, each in ipairs(old) do
      local line = file[start + offset - 1]
      if not line or vim.trim(line) ~= vim.trim(each[2]) then return false end
    end
    return true
  end
  for start = from, #file do
    if fits(start) then return start end
  end
  for start = 1, from - 1 do
    if fits(start) then return start end
  end
end

--- Apply a patch to the lines of a file.
---@param patch jumpseat.Patch
---@param file string[]
---@return string[] lines
---@return integer failed the number of hunks whose old lines are not in the file
function M.apply(patch, file)
  -- The buffer of an empty file has one empty line.
  local is_empty = #file == 1 and file[1] == ''
  local lines, from, failed = is_empty and {} or vim.list_slice(file), 1, 0
  for _, hunk in ipairs(patch.hunks) do
    local start = find_start(hunk, lines, from)
    if start then
      local result, line = vim.list_slice(lines, 1, start - 1), start
      for _, each in ipairs(hunk) do
        if each[1] == '+' then
          table.insert(result, each[2])
        else
          -- Lines that stay are taken from the file, because the model may have changed their indentation.
          if each[1] == ' ' then table.insert(result, lines[line]) end
          line = line + 1
        end
      end
      from = #result + 1
      lines = vim.list_extend(result, vim.list_slice(lines, line))
    else
      failed = failed + 1
    end
  end
  return lines, failed
end

return M
