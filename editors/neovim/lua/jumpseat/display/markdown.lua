--- Gives chats their file type, with the highlighting and the options of Markdown.
local M = {}

local FILETYPE = 'jumpseat'
--- The maximum number of lines to highlight with Tree-sitter. It parses the chat again after each piece of an answer, which
--- takes longer than a frame if the chat has more lines.
local MAX_LINES = 1000

--- Highlight a chat. Call this again when the chat may have become longer.
---@param buf integer
function M.highlight(buf)
  local is_short = vim.api.nvim_buf_line_count(buf) <= MAX_LINES
  local is_active = vim.treesitter.highlighter.active[buf] ~= nil
  if is_short and is_active then return end
  -- A build of Neovim may lack the parser.
  if is_short and pcall(vim.treesitter.start, buf, 'markdown') then return end
  if is_active then vim.treesitter.stop(buf) end
  vim.bo[buf].syntax = 'markdown'
end

--- Set the file type of a chat.
---@param buf integer
function M.set_up(buf)
  vim.treesitter.language.register('markdown', FILETYPE)
  if vim.bo[buf].filetype ~= FILETYPE then vim.bo[buf].filetype = FILETYPE end
  vim.api.nvim_buf_call(buf, function()
    vim.b.did_ftplugin = nil
    vim.cmd('runtime! ftplugin/markdown.vim')
  end)
  M.highlight(buf)
end

return M
