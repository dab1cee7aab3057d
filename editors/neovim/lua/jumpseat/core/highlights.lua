--- The highlight groups, with the groups that they are linked to by default.
local GROUPS = {
  JumpseatDiffAdd = 'DiffAdd',
  JumpseatDiffDelete = 'DiffDelete',
  JumpseatError = 'DiagnosticError',
  JumpseatLabel = 'Comment',
  JumpseatTitle = 'Title',
  JumpseatWarning = 'DiagnosticWarn',
}

for name, target in pairs(GROUPS) do
  -- `default` does not change a group that the user or a colour scheme has defined. Unlike nvim_set_hl(), the command
  -- restores the link after `:highlight clear`.
  vim.cmd(('highlight default link %s %s'):format(name, target))
end

return GROUPS
