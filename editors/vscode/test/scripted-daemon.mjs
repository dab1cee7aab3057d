// A fake daemon that behaves as its first argument says. It uses the same framing as the real daemon.
const [behaviour = 'well'] = process.argv.slice(2);

const METHODS = [
  ...['chat/start', 'chat/cancel', 'edit/start', 'models/list', 'providers/list', 'auth/signIn'],
  ...['conversations/list', 'transcript/render', 'keys/set', 'providers/add', 'tools/run'],
];

function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function buildInitializeResult() {
  return {
    serverInfo: { name: 'jumpseat', version: '0.0.1' },
    capabilities: {
      experimental: {
        jumpseat: {
          protocolVersion: behaviour === 'newer' ? 2 : 1,
          methods: behaviour === 'older' ? METHODS.filter((each) => each !== 'edit/start') : METHODS,
        },
      },
    },
  };
}

function answer({ id, method, params }) {
  if (method === 'exit') {
    process.exit(0);
  }
  if (id === undefined || behaviour === 'silent') {
    return;
  }
  if (method === 'initialize') {
    if (behaviour === 'broken') {
      console.error('ERROR jumpseat: no module named x');
      process.exit(3);
    }
    send({ id, result: buildInitializeResult() });
  } else if (method === 'chat/start') {
    const delta = { type: 'text_delta', block: 0, text: 'Once' };
    send({ method: 'chat/delta', params: { requestId: id, turnId: params.turnId, seq: 0, delta } });
    setImmediate(() => process.exit(3));
  } else {
    send({ id, result: { pid: process.pid, params } });
  }
}

let input = Buffer.alloc(0);
process.stdin.on('data', (data) => {
  input = Buffer.concat([input, data]);
  for (;;) {
    const end = input.indexOf('\r\n\r\n');
    const length = Number(/Content-Length: (\d+)/.exec(input.toString('latin1', 0, end))?.[1]);
    if (end < 0 || input.length < end + 4 + length) {
      return;
    }
    const body = input.toString('utf8', end + 4, end + 4 + length);
    input = input.subarray(end + 4 + length);
    answer(JSON.parse(body));
  }
});
if (behaviour !== 'silent') {
  process.stdin.on('end', () => process.exit(1));
}
