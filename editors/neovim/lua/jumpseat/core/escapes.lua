--- Removes the backslashes that escape lines and words of a transcript, as docs/protocol/transcripts.md describes.
local M = {}

local BLOCKS = {
  'tool_use',
  'tool_result',
  'context',
  'image',
  'document',
  'redacted_thinking',
  'other',
}
local MARKERS = { '<details><summary>Thinking</summary>', '<!-- text -->', '<!-- empty -->' }

--- Patterns of words that Vim or Emacs would read as settings for the file. The patterns for Vim start with white space.
local SETTINGS = { '[\t-\r ]vi', '[\t-\r ]ex', '[\t-\r ][vV]im[<=>]?%d*' }
table.insert(
  SETTINGS,
  (('local variables'):gsub('%a', function(letter) return ('[%s%s]'):format(letter, letter:upper()) end))
)

--- Whether a line has a special meaning in the transcript.
---@param line string without leading backslashes
---@param headings table<string, boolean> the headings of messages
---@return boolean
local function is_special(line, headings)
  line = line:gsub('%s+$', '')
  return headings[line]
    or vim.list_contains(MARKERS, line)
    or vim.list_contains(BLOCKS, line:match('^```+([%l_]+)'))
end

---@param line string
---@param headings table<string, boolean>
---@return string
local function remove(line, headings)
  local rest = line:match('^\\+(.*)$')
  if rest and is_special(rest, headings) then line = line:sub(2) end
  if not line:find('\\:', 1, true) then return line end
  -- Such a word may also start the line, so put white space before the line while the patterns are applied.
  line = ' ' .. line
  for _, word in ipairs(SETTINGS) do
    line = line:gsub('(' .. word .. '\\*)\\:', '%1:')
  end
  return line:sub(2)
end

--- Return the headings of messages in a chat.
---@param lines string[] the chat
---@return table<string, boolean>
function M.find_headings(lines)
  local headings = { ['## Me'] = true, ['## Assistant'] = true }
  local fence
  for _, line in ipairs(lines) do
    local marks = line:match('^(```+)') or line:match('^(~~~+)')
    if not fence then
      fence = marks
      local heading = line:match('^## .-%s*$')
      if heading then headings[vim.trim(heading)] = true end
    elseif marks and vim.startswith(marks, fence) and vim.trim(line) == marks then
      fence = nil
    end
  end
  return headings
end

--- Remove the daemon's escapes from the lines of a message.
---@param lines string[]
---@param headings table<string, boolean>
---@return string[]
function M.remove(lines, headings)
  return vim.tbl_map(function(line) return remove(line, headings) end, lines)
end

return M
