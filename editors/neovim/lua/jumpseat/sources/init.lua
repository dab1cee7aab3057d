--- Registers the completion sources of chats with the completion plug-ins that are installed.
local M = {}

local NAME = 'jumpseat'
---@type table<string, boolean> the file types whose source is registered with blink.cmp
local filetypes = {}
--- Whether the source is registered with nvim-cmp.
local is_registered_with_cmp = false

---@param blink table
local function register_blink(blink)
  local filetype = vim.bo.filetype
  if filetypes[filetype] then return end
  if next(filetypes) == nil then
    -- blink.cmp raises an error if the user's configuration already has this name.
    pcall(blink.add_source_provider, NAME, { name = NAME, module = 'jumpseat.sources.blink' })
  end
  filetypes[filetype] = true
  blink.add_filetype_source(filetype, NAME)
end

---@param cmp table
local function register_cmp(cmp)
  if not is_registered_with_cmp then
    is_registered_with_cmp = true
    cmp.register_source(NAME, require('jumpseat.sources.cmp'))
  end
  local sources = cmp.get_config().sources or {}
  if vim.iter(sources):any(function(each) return each.name == NAME end) then return end
  cmp.setup.buffer({ sources = vim.list_extend({ { name = NAME } }, sources) })
end

--- Register the source for the chat in the current buffer.
function M.register()
  local has_blink, blink = pcall(require, 'blink.cmp')
  if has_blink and blink.add_filetype_source then register_blink(blink) end
  local has_cmp, cmp = pcall(require, 'cmp')
  if has_cmp and cmp.register_source then register_cmp(cmp) end
end

return M
