--- Completion plug-ins: a chat registers a source with those that are there.
local M = {}

local NAME = 'jumpseat'
---@type table<string, boolean> file types that blink.cmp has the source for
local filetypes = {}
local is_registered = false

---@param blink table
local function with_blink(blink)
  local filetype = vim.bo.filetype
  if filetypes[filetype] then return end
  if next(filetypes) == nil then
    -- It refuses a name that the user's own configuration has.
    pcall(blink.add_source_provider, NAME, { name = NAME, module = 'jumpseat.sources.blink' })
  end
  filetypes[filetype] = true
  blink.add_filetype_source(filetype, NAME)
end

---@param cmp table
local function with_cmp(cmp)
  if not is_registered then
    is_registered = true
    cmp.register_source(NAME, require('jumpseat.sources.cmp'))
  end
  local sources = cmp.get_config().sources or {}
  if vim.iter(sources):any(function(each) return each.name == NAME end) then return end
  cmp.setup.buffer({ sources = vim.list_extend({ { name = NAME } }, sources) })
end

--- Offer the source to the completion plug-ins, for the chat in the current buffer.
function M.register()
  local has_blink, blink = pcall(require, 'blink.cmp')
  if has_blink and blink.add_filetype_source then with_blink(blink) end
  local has_cmp, cmp = pcall(require, 'cmp')
  if has_cmp and cmp.register_source then with_cmp(cmp) end
end

return M
