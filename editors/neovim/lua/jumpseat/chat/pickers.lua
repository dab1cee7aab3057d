--- Shows the kept conversations in the user's picker: snacks, fzf-lua or telescope with a preview, or else `vim.ui.select`.
local config = require('jumpseat.core.config')
local log = require('jumpseat.core.log')

local M = {}

local DELETE_KEY, ACTIONS_KEY = '<C-x>', '<C-o>'

---@class jumpseat.Listing
---@field title string
---@field rows table[]
---@field describe fun(row: table): string one line
---@field preview fun(row: table, show: fun(lines: string[])) `show` may be called later, or never
---@field open fun(row: table)
---@field delete fun(rows: table[])
---@field act fun(row: table) lets the user choose what to do with a row
---@field delete_several fun() lets the user select rows to delete, for a picker in which only one row can be selected

--- Fill the buffer of a preview, unless the picker has wiped it out by then.
---@param buf integer
---@param lines string[]
local function fill(buf, lines)
  if not vim.api.nvim_buf_is_valid(buf) then return end
  vim.bo[buf].modeline, vim.bo[buf].modifiable = false, true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  pcall(vim.treesitter.start, buf, 'markdown')
end

---@param listing jumpseat.Listing
local function open_telescope(listing)
  local actions, state = require('telescope.actions'), require('telescope.actions.state')
  local function map_keys(prompt, map)
    local function get_row() return (state.get_selected_entry() or {}).value end
    local function bind(key, get_value, run)
      map({ 'i', 'n' }, key, function()
        local value = get_value()
        actions.close(prompt)
        if value then run(value) end
      end)
    end
    bind('<CR>', get_row, listing.open)
    bind(ACTIONS_KEY, get_row, listing.act)
    bind(DELETE_KEY, function()
      local entries = state.get_current_picker(prompt):get_multi_selection()
      local rows = vim.tbl_map(function(entry) return entry.value end, entries)
      return #rows > 0 and rows or { get_row() }
    end, listing.delete)
    return true
  end
  require('telescope.pickers')
    .new({}, {
      prompt_title = listing.title,
      results_title = ('%s delete · %s more'):format(DELETE_KEY, ACTIONS_KEY),
      finder = require('telescope.finders').new_table({
        results = listing.rows,
        entry_maker = function(row)
          local text = listing.describe(row)
          return { value = row, display = text, ordinal = text }
        end,
      }),
      sorter = require('telescope.config').values.generic_sorter({}),
      previewer = require('telescope.previewers').new_buffer_previewer({
        title = 'Conversation',
        define_preview = function(self, entry)
          local buf = self.state.bufnr
          self.state.shown = entry.value
          listing.preview(entry.value, function(lines)
            if self.state and self.state.shown == entry.value then fill(buf, lines) end
          end)
        end,
      }),
      attach_mappings = map_keys,
    })
    :find()
end

---@param listing jumpseat.Listing
local function open_fzf_lua(listing)
  local base = require('fzf-lua.previewer.builtin').base
  local Previewer = base:extend()
  -- Each entry starts with the number of its row. The picker does not show this number.
  local function get_row(entry) return listing.rows[tonumber(entry:match('^%d+'))] end
  function Previewer:new(...)
    Previewer.super.new(self, ...)
    return setmetatable(self, Previewer)
  end
  function Previewer:populate_preview_buf(entry)
    local buf = self:get_tmp_buffer()
    self:set_preview_buf(buf)
    listing.preview(get_row(entry), function(lines) fill(buf, lines) end)
  end
  local entries = {}
  for number, row in ipairs(listing.rows) do
    table.insert(entries, ('%d\t%s'):format(number, listing.describe(row)))
  end
  local function with_first(run)
    return function(selected)
      if selected[1] then run(get_row(selected[1])) end
    end
  end
  local function to_fzf(key) return key:lower():gsub('^<c%-(.)>$', 'ctrl-%1') end
  require('fzf-lua').fzf_exec(entries, {
    prompt = listing.title .. '> ',
    previewer = Previewer,
    fzf_opts = {
      ['--multi'] = true,
      ['--delimiter'] = '\t',
      ['--with-nth'] = '2..',
      ['--header'] = ('%s delete · %s more'):format(DELETE_KEY, ACTIONS_KEY),
    },
    actions = {
      ['enter'] = with_first(listing.open),
      [to_fzf(ACTIONS_KEY)] = with_first(listing.act),
      [to_fzf(DELETE_KEY)] = function(selected) listing.delete(vim.tbl_map(get_row, selected)) end,
    },
  })
end

---@param listing jumpseat.Listing
local function open_snacks(listing)
  local function close_then(run)
    return function(picker, item)
      local items = picker:selected({ fallback = true })
      picker:close()
      if item then
        vim.schedule(function()
          run(item.row, vim.tbl_map(function(each) return each.row end, items))
        end)
      end
    end
  end
  local keys = {
    [DELETE_KEY] = { 'jumpseat_delete', mode = { 'n', 'i' }, desc = 'Delete' },
    [ACTIONS_KEY] = { 'jumpseat_more', mode = { 'n', 'i' }, desc = 'More' },
  }
  require('snacks').picker({
    title = ('%s · %s delete · %s more'):format(listing.title, DELETE_KEY, ACTIONS_KEY),
    items = vim.tbl_map(function(row) return { text = listing.describe(row), row = row } end, listing.rows),
    format = 'text',
    preview = function(context)
      local item = context.item
      context.preview:reset()
      listing.preview(item.row, function(lines)
        if context.picker.closed or context.picker:current() ~= item then return end
        context.preview:set_lines(lines)
        context.preview:highlight({ ft = 'markdown' })
      end)
    end,
    confirm = close_then(function(row) listing.open(row) end),
    actions = {
      jumpseat_delete = close_then(function(_, rows) listing.delete(rows) end),
      jumpseat_more = close_then(function(row) listing.act(row) end),
    },
    win = { input = { keys = keys }, list = { keys = keys } },
  })
end

---@param listing jumpseat.Listing
local function open_select(listing)
  local several = {}
  local rows = vim.list_extend(vim.list_slice(listing.rows), #listing.rows > 1 and { several } or {})
  vim.ui.select(rows, {
    prompt = listing.title .. ':',
    format_item = function(row) return row == several and 'Delete several …' or listing.describe(row) end,
  }, function(row)
    if row == several then return listing.delete_several() end
    if row then listing.act(row) end
  end)
end

--- Raise an error if fzf-lua or its program is missing. The program is `fzf`, or `sk` if the user has chosen it.
local function load_fzf_lua()
  local chosen = require('fzf-lua').config.globals.fzf_bin or 'fzf'
  local function can_run(name) return vim.fn.executable(vim.fn.expand(name)) == 1 end
  -- fzf's own plug-in has a function that finds the program outside PATH.
  local function is_found()
    local is_defined, program = pcall(vim.fn['fzf#exec'])
    return is_defined and can_run(program)
  end
  assert(can_run(chosen) or can_run('fzf') or is_found())
end

--- The pickers that can be installed, in the order in which they are tried.
local INSTALLABLE = { 'snacks', 'fzf-lua', 'telescope' }
local LOADERS = {
  snacks = function() return require('snacks') end,
  ['fzf-lua'] = load_fzf_lua,
  telescope = function() return require('telescope') end,
}
local OPEN = {
  snacks = open_snacks,
  ['fzf-lua'] = open_fzf_lua,
  telescope = open_telescope,
  select = open_select,
}

--- Return the picker to use: the one that the option `picker` names or, if the option is not set, the first one that is
--- installed. If that one is missing or none is installed, return `select`.
---@return string
function M.find()
  local wanted = config.get().picker
  if wanted == 'select' then return wanted end
  local names = wanted and { wanted } or INSTALLABLE
  return vim.iter(names):find(function(name) return (pcall(LOADERS[name])) end) or 'select'
end

--- Show conversations in the picker.
---@param listing jumpseat.Listing
function M.open(listing)
  local found, wanted = M.find(), config.get().picker
  if wanted and wanted ~= found then
    local missing = wanted == 'fzf-lua' and 'fzf-lua or its program fzf' or wanted
    log.warn(('The picker %s is not installed.'):format(missing))
  end
  OPEN[found](listing)
end

return M
