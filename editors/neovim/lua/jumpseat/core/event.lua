--- Fires the `User Jumpseat*` events, for other plug-ins.

---@param name string without `Jumpseat`
---@param data table
return function(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = 'Jumpseat' .. name, data = data, modeline = false })
end
