--- Creates chats: file names and initial text.
local client = require('jumpseat.daemon.client')
local config = require('jumpseat.core.config')
local transcript = require('jumpseat.daemon.transcript')

local M = {}

local namespace = vim.api.nvim_create_namespace('jumpseat.create')
--- The heading of questions. The daemon accepts it even if the configuration defines another one.
M.HEADING = '## Me'
local count = 0
---@type table<integer, { mark: integer, tick: integer }> by buffer: the headings that the configured heading may still replace
local replaceable = {}

--- Change the initial text of a chat without adding an undo step, and mark the chat as unmodified.
---@param buf integer
---@param change fun()
local function change_without_undo(buf, change)
  local levels = vim.bo[buf].undolevels
  vim.bo[buf].undolevels = -1
  change()
  vim.bo[buf].undolevels = levels
  vim.bo[buf].modified = false
end

--- Replace the heading of a new chat with the configured one, unless the user has edited the heading. This starts the
--- daemon if it is not running, which is not wanted before the user writes in the chat or sends it. Errors are ignored,
--- because sending reports them.
---@param buf integer
function M.replace_heading(buf)
  local heading = replaceable[buf]
  if not heading then return end
  replaceable[buf] = nil
  transcript.fetch_headings(config.get().model, function(err, headings)
    if err then
      replaceable[buf] = heading
      return
    end
    if headings.user == M.HEADING then return end
    if not vim.api.nvim_buf_is_loaded(buf) or not vim.bo[buf].modifiable then return end
    local row = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, heading.mark, {})[1]
    if not row or vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] ~= M.HEADING then return end
    local function change() vim.api.nvim_buf_set_text(buf, row, 0, row, #M.HEADING, { headings.user }) end
    if vim.api.nvim_buf_get_changedtick(buf) == heading.tick then return change_without_undo(buf, change) end
    vim.api.nvim_buf_call(buf, function() pcall(vim.cmd.undojoin) end)
    change()
  end)
end

--- Return the front matter of a new chat and a blank line below it, or no lines if the options do not require any.
---@param options jumpseat.Options
---@return string[]
local function build_front_matter(options)
  local lines = {}
  if options.model then table.insert(lines, 'model: ' .. options.model) end
  if #(options.tools or {}) > 0 then table.insert(lines, 'tools: ' .. table.concat(options.tools, ', ')) end
  return #lines > 0 and vim.iter({ '---', lines, '---', '' }):flatten():totable() or {}
end

--- Write the initial text of a chat into an empty buffer.
---@param buf integer
---@param lines? string[] the text, instead of front matter and an empty question
function M.write_initial_text(buf, lines)
  local head = build_front_matter(config.get())
  -- `nvim -M` and `:set nomodifiable` make every new buffer read-only.
  vim.bo[buf].modifiable = true
  local text = lines or vim.list_extend(vim.list_slice(head), { M.HEADING, '', '' })
  change_without_undo(buf, function() vim.api.nvim_buf_set_lines(buf, 0, -1, false, text) end)
  if lines then return end
  local mark = vim.api.nvim_buf_set_extmark(buf, namespace, #head, 0, {})
  replaceable[buf] = { mark = mark, tick = vim.api.nvim_buf_get_changedtick(buf) }
  if client.info() then M.replace_heading(buf) end
end

--- Create an empty buffer for a new chat, with a file name.
---@return integer buf
function M.new_buffer()
  count = count + 1
  local buf = vim.api.nvim_create_buf(true, false)
  local name = os.date('%Y-%m-%d-%H%M%S') .. ('-%d.md'):format(count)
  vim.api.nvim_buf_set_name(buf, vim.fs.joinpath(config.get().directory, name))
  return buf
end

return M
