import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';

import { DaemonError } from '../src/daemon/errors';
import { buildCommandLine } from '../src/daemon/program';
import type { ChatResult, Delta } from '../src/daemon/protocol';
import { Daemon } from '../src/daemon/supervisor';
import { directory, Lines, until } from './helpers';

/** The program of the real daemon. The tests answer the requests that the daemon sends to its provider. */
const program = process.env.JUMPSEAT;
const skip = !program && 'the variable JUMPSEAT is not set';

const waiting: ServerResponse[] = [];
const upstream = createServer((request, response) => {
  request.resume();
  if (request.url?.endsWith('/models')) {
    response.end(JSON.stringify({ data: [{ id: 'fake-model' }] }));
    return;
  }
  waiting.push(response);
});
const home = directory();

before(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  writeFileSync(
    join(home, 'config.toml'),
    `[providers.fake]
kind = "openai"
base_url = "http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1"
api_key = "k"
default_model = "fake-model"

[daemon]
idle_minutes = 0
`,
  );
});
const log = new Lines();
const daemon = new Daemon({
  launch: () =>
    Promise.resolve(
      buildCommandLine(
        { program: program ?? '', env: { ...process.env, JUMPSEAT_HOME: home } },
        { path: '', config: '', logLevel: 'info' },
        home,
        process.pid,
      ),
    ),
  initializeParams: () => ({
    processId: process.pid,
    rootUri: null,
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
    initializationOptions: { protocolVersions: [1] },
  }),
  log,
});

after(() => {
  daemon.dispose();
  upstream.closeAllConnections();
  upstream.close();
});

const PARAMS = { model: 'fake:fake-model', messages: [{ role: 'user' as const, content: 'Hello' }] };

function piece(text: string, finish: string | null = null): string {
  const chunk = { choices: [{ index: 0, delta: { content: text }, finish_reason: finish }] };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

async function nextResponse(): Promise<ServerResponse> {
  await until(() => waiting.length > 0, 'the provider receives a request');
  const response = waiting.shift();
  assert.ok(response);
  return response;
}

function ofType<T extends Delta['type']>(deltas: Delta[], type: T): Extract<Delta, { type: T }>[] {
  return deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type);
}

async function readCancellation(turn: Promise<ChatResult>): Promise<DaemonError> {
  const error: unknown = await turn.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DaemonError && error.cancelled);
  return error;
}

test('the models of the configuration are listed', { skip }, async () => {
  const { models } = await daemon.request('models/list', { provider: 'fake' });
  assert.deepEqual(
    models.map(({ id, isDefault }) => [id, isDefault]),
    [['fake:fake-model', true]],
  );
});

test('a turn streams its deltas, and then returns its result', { skip }, async () => {
  const deltas: Delta[] = [];
  const turn = daemon.turn('chat/start', PARAMS, (delta) => deltas.push(delta));
  const response = await nextResponse();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(piece('Hel'));
  await until(() => ofType(deltas, 'text_delta').length === 1, 'the first piece arrives');
  response.end(`${piece('lo', 'stop')}data: [DONE]\n\n`);

  const result = await turn;
  assert.equal(result.text, 'Hello');
  assert.deepEqual(
    ofType(deltas, 'text_delta').map(({ text }) => text),
    ['Hel', 'lo'],
  );
  assert.equal(deltas.at(-1)?.type, 'done');
});

test('cancelling a turn before its first token closes the connection to the provider', { skip }, async () => {
  const source = new CancellationTokenSource();
  const turn = daemon.turn('chat/start', PARAMS, () => undefined, source.token);
  const response = await nextResponse();
  let closed = false;
  response.once('close', () => (closed = true));
  source.cancel();

  await readCancellation(turn);
  await until(() => closed, 'the connection to the provider is closed');
});

test('a turn that is cancelled in the middle keeps its partial answer', { skip }, async () => {
  const source = new CancellationTokenSource();
  const deltas: Delta[] = [];
  const turn = daemon.turn('chat/start', PARAMS, (delta) => deltas.push(delta), source.token);
  const response = await nextResponse();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(piece('Once upon'));
  await until(() => ofType(deltas, 'text_delta').length === 1, 'the first piece arrives');
  source.cancel();

  assert.equal((await readCancellation(turn)).data.partial?.text, 'Once upon');
});

test('each of two simultaneous turns receives only its own deltas', { skip }, async () => {
  const seen: [Delta[], Delta[]] = [[], []];
  const turns = seen.map((deltas) => daemon.turn('chat/start', PARAMS, (delta) => deltas.push(delta)));
  const responses = [await nextResponse(), await nextResponse()];
  responses.forEach((response, index) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${piece(`answer ${index}`, 'stop')}data: [DONE]\n\n`);
  });

  const results = await Promise.all(turns);
  assert.deepEqual(
    results.map(({ text }) => text),
    seen.map((deltas) =>
      ofType(deltas, 'text_delta')
        .map(({ text }) => text)
        .join(''),
    ),
  );
  assert.deepEqual(results.map(({ text }) => text).sort(), ['answer 0', 'answer 1']);
});

test("a daemon's error has a code, and a sentence with its hint", { skip }, async () => {
  await assert.rejects(
    daemon.turn('chat/start', { ...PARAMS, model: 'fakee:m' }, () => undefined),
    (error) => {
      assert.ok(error instanceof DaemonError);
      assert.equal(error.code, 1004);
      assert.match(error.sentence, /fake/);
      return true;
    },
  );
});

test('the log contains the command line, and a line when the daemon is ready', { skip }, () => {
  assert.ok(
    log.lines.some((line) => /^info Starting .* attach --log-level info --clientProcessId \d+$/.test(line)),
  );
  assert.ok(log.lines.some((line) => /^info jumpseat .* is ready\.$/.test(line)));
});
