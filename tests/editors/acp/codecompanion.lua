-- Asks CodeCompanion a question, and prints its chat: run it with `-l` after the set-up of docs/acp.md.
vim.cmd("CodeCompanionChat Why is the sky blue?")
local chat = require("codecompanion").last_chat()
local function text()
  return table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), "\n")
end
vim.wait(20000, function()
  return text():find("Scattered.", 1, true) ~= nil
end, 20)
print(text())
vim.cmd("qa!")
