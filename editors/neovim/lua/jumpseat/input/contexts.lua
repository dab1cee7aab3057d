--- Reads the contents of references in a question, such as `@buffer` and `@file:PATH`, into blocks of the protocol.
local chats = require('jumpseat.core.chats')
local client = require('jumpseat.daemon.client')
local files = require('jumpseat.input.files')
local region = require('jumpseat.core.region')
local wire = require('jumpseat.core.wire')

local M = {}

---@alias jumpseat.ContextCallback fun(reason: string?, blocks: table[]?)

local SYMBOLS_MS = 3000

---@param text string
---@param label string
---@param uri string?
---@return table
local function make_block(text, label, uri)
  if text ~= '' and not vim.endswith(text, '\n') then text = text .. '\n' end
  return { type = 'context', text = text ~= '' and text or 'none\n', label = label, uri = uri }
end

---@param buf integer
---@return table
local function build_diagnostics_block(buf)
  local lines = {}
  for _, each in ipairs(vim.diagnostic.get(buf)) do
    local severity = vim.diagnostic.severity[each.severity]
    table.insert(lines, ('%d:%d: %s: %s'):format(each.lnum + 1, each.col + 1, severity, each.message))
  end
  return make_block(table.concat(lines, '\n'), 'diagnostics', region.uri(buf))
end

---@param items vim.quickfix.entry[]
---@param label string
---@return table
local function build_list_block(items, label)
  local lines = vim.tbl_map(function(item)
    local name = item.bufnr > 0 and vim.fn.fnamemodify(vim.api.nvim_buf_get_name(item.bufnr), ':.') or ''
    return ('%s:%d:%d: %s'):format(name, item.lnum, item.col, item.text)
  end, items)
  return make_block(table.concat(lines, '\n'), label)
end

--- Return the buffers of open files, except chats.
---@return integer[]
local function list_buffers()
  return vim.tbl_filter(function(buf)
    local options = vim.bo[buf]
    return options.buflisted
      and options.buftype == ''
      and vim.api.nvim_buf_is_loaded(buf)
      and not chats.get(buf)
      and vim.api.nvim_buf_get_name(buf) ~= ''
  end, vim.api.nvim_list_bufs())
end

--- Run `git diff` in the directory of the file that the question is about.
---@param word string the reference
---@param arguments string[]
---@param callback jumpseat.ContextCallback
local function run_git(word, arguments, callback)
  local source = chats.source()
  local name = source and vim.api.nvim_buf_get_name(source) or ''
  local cwd = name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
  local command = vim.list_extend({ 'git', '-C', cwd, 'diff', '--no-color', '--no-ext-diff' }, arguments)
  local label = table.concat({ 'git diff', unpack(arguments) }, ' ')
  local started = pcall(vim.system, command, { text = true }, function(result)
    vim.schedule(function()
      if result.code ~= 0 then return callback(('%s: %s'):format(word, vim.trim(result.stderr))) end
      callback(nil, { make_block(result.stdout, label) })
    end)
  end)
  if not started then callback(word .. ': the program git was not found.') end
end

--- Add a line to `lines` for each of these symbols, and for the symbols inside them.
---@param symbols table[]
---@param depth integer
---@param lines string[]
---@return string[]
local function list_symbols(symbols, depth, lines)
  for _, symbol in ipairs(symbols) do
    local range = symbol.range or symbol.location.range
    local kind = vim.lsp.protocol.SymbolKind[symbol.kind] or 'Symbol'
    table.insert(lines, ('%s%d: %s %s'):format(('  '):rep(depth), range.start.line + 1, kind, symbol.name))
    list_symbols(symbol.children or {}, depth + 1, lines)
  end
  return lines
end

---@param buf integer
---@param callback jumpseat.ContextCallback
local function request_symbols(buf, callback)
  local method = 'textDocument/documentSymbol'
  if #vim.lsp.get_clients({ bufnr = buf, method = method }) == 0 then
    return callback('@symbols: no language server of the last buffer lists symbols.')
  end
  local is_answered = false
  local function answer(reason, blocks)
    if is_answered then return end
    is_answered = true
    callback(reason, blocks)
  end
  vim.lsp.buf_request_all(
    buf,
    method,
    { textDocument = vim.lsp.util.make_text_document_params(buf) },
    function(results)
      local lines = {}
      for _, result in pairs(results) do
        list_symbols(result.result or {}, 0, lines)
      end
      answer(nil, { make_block(table.concat(lines, '\n'), 'symbols', region.uri(buf)) })
    end
  )
  vim.defer_fn(function() answer('@symbols: the language server does not answer.') end, SYMBOLS_MS)
end

--- Return the section of a help file around a tag.
---@param tag string
---@return string? reason
---@return table[]? blocks
local function read_help(tag)
  for _, tags in ipairs(vim.api.nvim_get_runtime_file('doc/tags', true)) do
    for line in io.lines(tags) do
      local name, file = line:match('^([^\t]+)\t([^\t]+)\t')
      if name == tag then
        local lines = vim.fn.readfile(vim.fs.joinpath(vim.fs.dirname(tags), file))
        local at = 1
        while at < #lines and not lines[at]:find('*' .. tag .. '*', 1, true) do
          at = at + 1
        end
        local first, last = at, at
        while first > 1 and not lines[first - 1]:find('^====') do
          first = first - 1
        end
        while last < #lines and not lines[last + 1]:find('^====') do
          last = last + 1
        end
        local text = table.concat(vim.list_slice(lines, first, last), '\n')
        return nil, { make_block(text, 'help: ' .. tag) }
      end
    end
  end
  return ('@help: there is no tag %s.'):format(tag)
end

--- Return a buffer whose name ends with this path.
---@param name string
---@return integer?
local function find_buffer(name)
  local wanted = vim.fs.normalize(name)
  return vim.iter(list_buffers()):find(function(buf)
    local path = vim.fs.normalize(vim.api.nvim_buf_get_name(buf))
    return path == wanted or vim.endswith(path, '/' .. wanted)
  end)
end

---@param buf integer
---@return table
local function build_viewport_block(buf)
  local win = vim.fn.win_findbuf(buf)[1]
  local first, last = unpack(
    win and vim.api.nvim_win_call(win, function() return { vim.fn.line('w0'), vim.fn.line('w$') } end)
      or { 1, vim.o.lines }
  )
  return region.block(region.lines(buf, first, last))
end

--- Read a buffer, unless it is so large that Neovim would block.
---@param word string
---@param buf integer
---@return string? reason
---@return table[]? blocks
local function read_buffer(word, buf)
  local reason = region.check_size(word, region.size_of_buffer(buf))
  if reason then return reason end
  return nil, { region.block(region.whole(buf)) }
end

--- The functions that read references about a buffer, by word.
---@type table<string, fun(buf: integer, callback: jumpseat.ContextCallback)>
local OF_BUFFER = {
  ['@buffer'] = function(buf, callback) callback(read_buffer('@buffer', buf)) end,
  ['@diagnostics'] = function(buf, callback) callback(nil, { build_diagnostics_block(buf) }) end,
  ['@viewport'] = function(buf, callback) callback(nil, { build_viewport_block(buf) }) end,
  ['@symbols'] = request_symbols,
  ['@selection'] = function(buf, callback)
    local selection = region.last_selection(buf)
    if not selection then return callback('@selection: nothing was selected in the last buffer.') end
    callback(nil, { region.block(selection) })
  end,
  ['@loclist'] = function(buf, callback)
    local win = vim.fn.win_findbuf(buf)[1]
    callback(nil, { build_list_block(win and vim.fn.getloclist(win) or {}, 'location list') })
  end,
}

--- The functions that read the other references without an argument, by word.
---@type table<string, fun(callback: jumpseat.ContextCallback)>
local PLAIN = {
  ['@buffers'] = function(callback)
    local blocks = vim.tbl_map(function(buf) return region.block(region.whole(buf)) end, list_buffers())
    if #blocks == 0 then return callback('@buffers: no file is open.') end
    callback(nil, blocks)
  end,
  ['@quickfix'] = function(callback) callback(nil, { build_list_block(vim.fn.getqflist(), 'quickfix list') }) end,
  ['@diff'] = function(callback) run_git('@diff', { 'HEAD' }, callback) end,
  ['@staged'] = function(callback) run_git('@staged', { '--staged' }, callback) end,
  ['@unstaged'] = function(callback) run_git('@unstaged', {}, callback) end,
  ['@clipboard'] = function(callback)
    local read, text = pcall(vim.fn.getreg, '+')
    if read and text ~= '' then return callback(nil, { make_block(text, 'clipboard') }) end
    files.read_clipboard_image(callback)
  end,
}

--- The functions that read references with an argument, by the word before the colon.
---@type table<string, fun(argument: string, callback: jumpseat.ContextCallback)>
local WITH_ARGUMENT = {
  file = function(path, callback) callback(files.read(path)) end,
  help = function(tag, callback) callback(read_help(tag)) end,
  buffer = function(name, callback)
    local buf = find_buffer(name)
    if not buf then return callback(('@buffer: no open file has the name %s.'):format(name)) end
    callback(read_buffer('@buffer:' .. name, buf))
  end,
  url = function(url, callback)
    client.request('context/fetch', { url = url }, function(err, result)
      if err then return callback(wire.format_error(err)) end
      callback(nil, { result.context })
    end)
  end,
}

--- The references that completion offers.
---@type jumpseat.Completion[]
M.WORDS = {
  { word = '@buffer', menu = 'The last buffer that is not a chat.' },
  { word = '@buffer:', menu = 'An open file, by its name.' },
  { word = '@buffers', menu = 'All open files.' },
  { word = '@clipboard', menu = 'The text or the image in the clipboard.' },
  { word = '@diagnostics', menu = 'The diagnostics of the last buffer.' },
  { word = '@diff', menu = 'What has changed since the last commit.' },
  { word = '@file:', menu = 'A file, all files of a directory, or all that match a pattern.' },
  { word = '@help:', menu = 'A section of the help.' },
  { word = '@loclist', menu = 'The location list of the last buffer.' },
  { word = '@pin:', menu = 'A pinned reference, such as @pin:buffer: added again when it has changed.' },
  { word = '@quickfix', menu = 'The quickfix list.' },
  { word = '@selection', menu = 'The last selection in the last buffer.' },
  { word = '@staged', menu = 'What is staged for the next commit.' },
  { word = '@symbols', menu = 'The symbols of the last buffer, from its language server.' },
  { word = '@unstaged', menu = 'What has changed and is not staged.' },
  { word = '@url:', menu = 'A page on the web.' },
  { word = '@viewport', menu = 'The visible lines of the last buffer.' },
}

--- Return the candidates for the argument of a reference, for completion.
---@param kind string
---@return string[]
function M.list_arguments(kind)
  if kind ~= 'buffer' then return {} end
  return vim.tbl_map(
    function(buf) return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':.') end,
    list_buffers()
  )
end

---@param word string
---@return boolean
function M.is_reference(word)
  local kind, argument = word:match('^@(%l+):(.+)$')
  if kind then return WITH_ARGUMENT[kind] ~= nil and argument ~= '' end
  return PLAIN[word] ~= nil or OF_BUFFER[word] ~= nil
end

--- Return the references to a Git diff among these words, each once.
---@param words string[]
---@return string[]
function M.select_diffs(words)
  return vim.tbl_filter(
    function(word) return vim.list_contains(words, word) end,
    { '@diff', '@staged', '@unstaged' }
  )
end

--- Read a reference to a diff without a limit for its size, because the daemon shortens the diff.
---@param word string
---@param callback jumpseat.ContextCallback
function M.read_diff(word, callback) PLAIN[word](callback) end

--- Read a reference, unless its text is too large to send. The callback may run before this returns.
---@param word string
---@param callback jumpseat.ContextCallback
function M.read(word, callback)
  local function check(reason, blocks)
    if reason then return callback(reason) end
    local size = 0
    for _, block in ipairs(blocks) do
      size = size + #(block.text or '')
    end
    local refusal = region.check_size(word, size)
    callback(refusal, not refusal and blocks or nil)
  end
  local kind, argument = word:match('^@(%l+):(.+)$')
  if kind then return WITH_ARGUMENT[kind](argument, check) end
  if PLAIN[word] then return PLAIN[word](check) end
  local buf = chats.source()
  if not buf then
    return callback(('%s: there is no buffer for it to refer to. Open a file first.'):format(word))
  end
  OF_BUFFER[word](buf, check)
end

return M
