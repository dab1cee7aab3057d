--- Applies the unified diffs that models write, whose line numbers are often wrong.
local M = {}

---@class jumpseat.Patch
---@field path string? nil if the diff does not name its file
---@field hunks [string, string][][] lines as pairs of ' ', '-' or '+' and the text

--- Whether a code block is a diff.
---@param block jumpseat.CodeBlock
---@return boolean
function M.is_patch(block)
  local language = block.info:match('^%w*')
  return language == 'diff' or language == 'patch'
end

---@param name string
---@return string? path nil for a file that does not exist on this side
local function clean_path(name)
  name = name:gsub('\t.*$', ''):gsub('^[ab]/', '')
  return name ~= '/dev/null' and name or nil
end

--- Parse a diff of one or more files.
---@param lines string[]
---@return jumpseat.Patch[]
function M.parse(lines)
  local patches, hunk = {}, nil
  local function add_patch(path)
    hunk = nil
    table.insert(patches, { path = path, hunks = {} })
  end
  for number, line in ipairs(lines) do
    local old, new = line:match('^%-%-%- (.+)$'), (lines[number + 1] or ''):match('^%+%+%+ (.+)$')
    local is_header = (old and new) or (line:find('^%+%+%+ ') and lines[number - 1]:find('^%-%-%- '))
    if old and new then
      add_patch(clean_path(new) or clean_path(old))
    elseif line:find('^@@') then
      if #patches == 0 then add_patch() end
      hunk = {}
      table.insert(patches[#patches].hunks, hunk)
    elseif
      not is_header
      and not line:find('^diff ')
      and not line:find('^index ')
      and not line:find('^\\')
    then
      if #patches == 0 then add_patch() end
      if not hunk then
        hunk = {}
        table.insert(patches[#patches].hunks, hunk)
      end
      local sign = line:match('^[-+]') or ' '
      table.insert(hunk, { sign, line:find('^[-+ ]') and line:sub(2) or line })
    end
  end
  return patches
end

--- Return the line at which the old lines of a hunk start, at this line or below it, or else above it. White space at the
--- edges of lines is ignored.
---@param hunk [string, string][]
---@param file string[]
---@param from integer
---@return integer?
local function find_start(hunk, file, from)
  local old = vim.iter(hunk):filter(function(each) return each[1] ~= '+' end):totable()
  if #old == 0 then return #table.concat(file) == 0 and 1 or nil end
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
  local lines, from, failed = vim.list_slice(file), 1, 0
  for _, hunk in ipairs(patch.hunks) do
    local start = find_start(hunk, lines, from)
    if start then
      local result, line = vim.list_slice(lines, 1, start - 1), start
      for _, each in ipairs(hunk) do
        if each[1] == '+' then
          table.insert(result, each[2])
        else
          -- The lines that stay are those of the file, whose indentation the model may have changed.
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
