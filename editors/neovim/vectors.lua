-- Checks the transcript test vectors with Neovim's JSON encoder and decoder: `nvim --headless -u NONE -l vectors.lua`.
-- JUMPSEAT_VECTORS is the path of the file with the vectors. JUMPSEAT_COMMAND is the same as in smoke.lua.
local client = vim.lsp.rpc.start(vim.json.decode(vim.env.JUMPSEAT_COMMAND or '["jumpseat", "attach"]'), {})

local function request(method, params)
  local answer
  client.request(method, params, function(err, result) answer = { err = err, result = result } end)
  assert(vim.wait(20000, function() return answer end, 5), 'timed out: ' .. method)
  return assert(not answer.err and answer.result or method == 'shutdown', vim.inspect(answer.err))
end

request('initialize', { processId = vim.uv.os_getpid(), capabilities = vim.empty_dict(), rootUri = vim.NIL })
client.notify('initialized', vim.empty_dict())

local file = assert(io.open(vim.env.JUMPSEAT_VECTORS, 'rb'))
local vectors = vim.json.decode(file:read('*a'), { luanil = { object = true, array = true } })
local failed = {}
for _, vector in ipairs(vectors) do
  local wanted = vector.rendered or vector.text
  local read = request('transcript/parse', { text = vector.text })
  -- Have the daemon render the vector's conversation and the one it parsed, both as encoded by Neovim.
  for from, conversation in pairs({ vector = vector, wire = read }) do
    local text = request('transcript/render', { messages = conversation.messages, model = conversation.model,
      system = conversation.system, settings = conversation.settings }).text
    if text ~= wanted then table.insert(failed, { vector.name, from, text }) end
  end
end

request('shutdown')
client.notify('exit')
io.stdout:write(vim.json.encode({ count = #vectors, failed = #failed > 0 and failed or nil }), '\n')
