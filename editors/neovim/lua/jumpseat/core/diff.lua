--- Compares two texts by lines.

---@param old string
---@param new string
---@param options table the options of `vim.diff`
---@return string|integer[][]
return function(old, new, options)
  local compare = vim.text.diff or vim.diff -- renamed in Neovim 0.12
  return compare(old, new, options)
end
