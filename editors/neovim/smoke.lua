-- The smallest Neovim client of jumpseat, and its smoke test: `nvim --headless -u NONE -l smoke.lua`.
-- JUMPSEAT_COMMAND is the daemon's command as a JSON array (default: jumpseat attach). JUMPSEAT_BASE_URL is the base
-- URL of an OpenAI-compatible API.
local TIMEOUT_MS = 20000
local deltas, exit_code = {}, nil -- deltas: by turn id, in order

local client = vim.lsp.rpc.start(vim.json.decode(vim.env.JUMPSEAT_COMMAND or '["jumpseat", "attach"]'), {
  notification = function(method, params)
    if method ~= 'chat/delta' then return end
    table.insert(deltas[params.turnId], params.delta)
    if params.delta.type == 'text_delta' then io.stdout:write(params.delta.text) end
  end,
  on_exit = function(code) exit_code = code end,
})

local function wait_for(what, condition)
  assert(vim.wait(TIMEOUT_MS, condition, 5), 'timed out: ' .. what)
end

local function request(method, params)
  local answer
  client.request(method, params, function(err, result) answer = { err = err, result = result } end)
  wait_for(method, function() return answer end)
  return assert(not answer.err and answer.result or method == 'shutdown', vim.inspect(answer.err))
end

local function delta_of(turn_id, type)
  return vim.iter(deltas[turn_id]):find(function(delta) return delta.type == type end)
end

local function chat(turn_id, messages, tools)
  deltas[turn_id] = {}
  return { turnId = turn_id, model = 'fake:fake-model', messages = messages, tools = tools }
end

request('initialize', {
  processId = vim.uv.os_getpid(), capabilities = vim.empty_dict(), rootUri = vim.NIL,
  initializationOptions = { config = { providers = { fake = {
    kind = 'openai', base_url = vim.env.JUMPSEAT_BASE_URL, api_key = 'fake-key' } } } },
})
client.notify('initialized', vim.empty_dict())

local question = { role = 'user', content = 'Say hello.' }
local hello = request('chat/start', chat('hello', { question }))

-- vim.lsp.rpc drops the response of a cancelled request, so the partial answer is read from the last delta.
client.request('chat/start', chat('cancelled', { question }), function() end)
wait_for('the first words', function() return delta_of('cancelled', 'text_delta') end)
assert(request('chat/cancel', { turnId = 'cancelled' }).cancelled)
wait_for('the end of the turn', function() return delta_of('cancelled', 'done') end)
local done = delta_of('cancelled', 'done')
assert(done.stopReason == 'cancelled', done.stopReason)

local weather = { name = 'weather', description = 'The weather in a city.',
  parameters = { type = 'object', properties = { city = { type = 'string' } } } }
local asked = { question }
local call = request('chat/start', chat('call', asked, { weather }))
local result = { type = 'tool_result', toolUseId = call.toolCalls[1].id, content = 'sunny' }
vim.list_extend(asked, { { role = 'assistant', content = call.content }, { role = 'user', content = { result } } })
local answer = request('chat/start', chat('answer', asked, { weather }))

request('shutdown')
client.notify('exit')
wait_for('the daemon to exit', function() return exit_code end)
assert(exit_code == 0, 'exit code ' .. exit_code)
io.stdout:write('\n', vim.json.encode({ hello = hello.text, partial = done.content[1].text,
  city = call.toolCalls[1].arguments.city, answer = answer.text }), '\n')
