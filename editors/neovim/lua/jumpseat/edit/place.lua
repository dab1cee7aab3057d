--- Finds the lines of a file that a code block replaces: those that align best with the lines of the block.
local M = {}

--- The scores of a new line of the block, of a removed line of the file, and of a pair of different lines. A pair of equal
--- lines scores up to 1. New lines are cheap, because a block usually adds some. Removed lines are expensive: a chance match
--- far away would otherwise remove everything in between.
local NEW_LINE, REMOVED_LINE, OTHER_LINE = -0.01, -0.25, -0.3
--- The minimum score of a match. A line that is unique in the file scores 1 if the block's line is equal, and 0.71 if
--- the two lines have no more than their first two words in common.
local LEAST = 0.6
--- The similarity assumed for two lines that start with the same two words, such as the headers of a function with other
--- parameters.
local SAME_START = 0.8
--- Beyond this number of pairs of lines, only identical lines are aligned.
local MOST_PAIRS = 4e6

---@class jumpseat.Match
---@field first integer the first replaced line of the file, from 1
---@field last integer the last replaced line of the file, inclusive
---@field lines string[] the lines of the block, with the file's indentation
---@field score number

---@param line string
---@return string
local function get_indentation(line) return line:match('^%s*') end

--- Return how much two lines have in common at their start and end.
---@param one string
---@param other string
---@return number similarity from 0 to 1
local function compare_characters(one, other)
  local shorter, longer = math.min(#one, #other), math.max(#one, #other)
  if shorter * 2 < longer then return 0 end
  local head = 0
  while head < shorter and one:byte(head + 1) == other:byte(head + 1) do
    head = head + 1
  end
  local tail = 0
  while tail < shorter - head and one:byte(#one - tail) == other:byte(#other - tail) do
    tail = tail + 1
  end
  return (head + tail) / longer
end

---@param line string
---@return string?
local function get_start(line) return line:match('^[%w_]+%W+[%w_]+') end

--- Return a function that computes the similarity of a block line and a file line.
---@param block string[] trimmed lines
---@param file string[] trimmed lines
---@return fun(number: integer, line: integer): number similarity from 0 to 1
local function create_comparison(block, file)
  local starts, file_starts = {}, {}
  for number, text in ipairs(block) do
    starts[number] = get_start(text)
  end
  for line, text in ipairs(file) do
    file_starts[line] = get_start(text)
  end
  local is_small = #block * #file <= MOST_PAIRS
  return function(number, line)
    if block[number] == file[line] then return 1 end
    if not is_small then return 0 end
    local similarity = compare_characters(block[number], file[line])
    local has_same_start = starts[number] and starts[number] == file_starts[line]
    return has_same_start and math.max(similarity, SAME_START) or similarity
  end
end

--- Return what a match of each line of the block is worth: 0 for a blank line, little for a line without a word, otherwise 1.
--- A line that occurs several times in the file is worth less.
---@param block string[] trimmed lines
---@param file string[] trimmed lines
---@return number[]
local function weigh(block, file)
  local counts = {}
  for _, line in ipairs(file) do
    counts[line] = (counts[line] or 0) + 1
  end
  return vim.tbl_map(function(line)
    if line == '' then return 0 end
    return (line:find('%w') and 1 or 0.2) / math.sqrt(counts[line] or 1)
  end, block)
end

--- One row of the alignment table. Entry n is the best alignment of the block's first n lines that ends at the current file
--- line. Plain arrays keep this fast: a long block has millions of entries.
---@class jumpseat.Alignments
---@field score number[]
---@field first integer[] the line of the file at which the alignment starts; 0 if no line is aligned
---@field block_first integer[] the first aligned line of the block; it is aligned with `first`
---@field block_last integer[] the last aligned line of the block

---@return jumpseat.Alignments
local function create_row()
  return { score = { [0] = 0 }, first = { [0] = 0 }, block_first = { [0] = 0 }, block_last = { [0] = 0 } }
end

--- Copy an alignment into another place, and add to its score.
---@param row jumpseat.Alignments
---@param to integer
---@param source jumpseat.Alignments
---@param from integer
---@param score number
local function copy(row, to, source, from, score)
  row.score[to] = source.score[from] + score
  row.first[to], row.block_first[to] = source.first[from], source.block_first[from]
  row.block_last[to] = source.block_last[from]
end

---@class jumpseat.Alignment
---@field score number
---@field first integer the first aligned line of the file
---@field block_first integer the first aligned line of the block; it is aligned with `first`
---@field block_last integer the last aligned line of the block
---@field last integer the line of the file at which the alignment ends

--- Align a whole block with a part of a file.
---@param block string[] trimmed lines
---@param file string[] trimmed lines
---@return jumpseat.Alignment?
local function align(block, file)
  local weights, compare, count = weigh(block, file), create_comparison(block, file), #block
  local before, row, best = create_row(), create_row(), nil
  for number = 1, count do
    copy(before, number, before, number - 1, NEW_LINE)
  end
  for line = 1, #file do
    for number = 1, count do
      local similarity = compare(number, line)
      local score = similarity > 0.5 and weights[number] * (similarity - 0.3) / 0.7 or OTHER_LINE
      local paired, added = before.score[number - 1] + score, row.score[number - 1] + NEW_LINE
      local removed = before.first[number] > 0 and before.score[number] + REMOVED_LINE or -math.huge
      if paired >= added and paired >= removed then
        copy(row, number, before, number - 1, score)
        if row.first[number] == 0 then
          row.first[number], row.block_first[number] = line, number
        end
        row.block_last[number] = number
      elseif added >= removed then
        copy(row, number, row, number - 1, NEW_LINE)
      else
        copy(row, number, before, number, REMOVED_LINE)
      end
    end
    if row.first[count] > 0 and (not best or row.score[count] > best.score) then
      best = {
        score = row.score[count],
        first = row.first[count],
        block_first = row.block_first[count],
        block_last = row.block_last[count],
        last = line,
      }
    end
    before, row = row, before
  end
  return best
end

--- Shift the lines of a block from one indentation to another.
---@param block string[]
---@param from string the indentation in the block
---@param to string the indentation in the file
---@return string[]
local function reindent(block, from, to)
  local prefix = vim.endswith(to, from) and to:sub(1, #to - #from) or ''
  local removed = vim.endswith(from, to) and #from - #to or 0
  return vim.tbl_map(function(line)
    if line == '' then return line end
    local rest = line:sub(math.min(removed, #get_indentation(line)) + 1)
    return prefix .. rest
  end, block)
end

--- Find the end of the old body that a new body in the block replaces. Call this if the end of the new body is not aligned.
--- The rest of the old body consists of the lines below `last` that are indented more than `first`. If the line below them
--- equals `closing`, that line is the last line of the body.
---@param file string[]
---@param first integer the first aligned line of the file
---@param last integer the line of the file at which the alignment ends
---@param closing string the last line of the block, with the file's indentation
---@return integer last the last line of the old body
local function find_end_of_body(file, first, last, closing)
  local base, found = #get_indentation(file[first]), last
  for line = last + 1, #file do
    local is_blank = not file[line]:find('%S')
    if not is_blank and #get_indentation(file[line]) <= base then
      return file[line] == closing and line or found
    end
    if not is_blank then found = line end
  end
  return found
end

--- Find the lines that a code block replaces.
---@param block string[] not empty, without blank lines at its edges
---@param file string[]
---@return jumpseat.Match? place nil if no part of the file is similar
function M.find(block, file)
  local best = align(vim.tbl_map(vim.trim, block), vim.tbl_map(vim.trim, file))
  if not best or best.score < LEAST then return end
  local from, to = get_indentation(block[best.block_first]), get_indentation(file[best.first])
  local lines, last = reindent(block, from, to), best.last
  local next_line = block[best.block_last + 1]
  -- The last aligned line of the block is followed by the rest of a body, which matches nothing in the file.
  if next_line and #get_indentation(next_line) > #from then
    last = find_end_of_body(file, best.first, last, lines[#lines])
  end
  return { first = best.first, last = last, lines = lines, score = best.score }
end

return M
