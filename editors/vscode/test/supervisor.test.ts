import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';

import { Code, DaemonError } from '../src/daemon/errors';
import type { Launch } from '../src/daemon/process';
import type { Delta } from '../src/daemon/protocol';
import { Daemon, type DaemonOptions } from '../src/daemon/supervisor';
import { Lines, until } from './helpers';

const SCRIPT = fileURLToPath(new URL('scripted-daemon.mjs', import.meta.url));

function launch(behaviour: string): Launch {
  return { program: process.execPath, args: [SCRIPT, behaviour], env: process.env };
}

function daemonThat(behaviour: string, options: Partial<DaemonOptions> = {}): { daemon: Daemon; log: Lines } {
  const log = new Lines();
  const daemon = new Daemon({
    launch: () => Promise.resolve(launch(behaviour)),
    initializeParams: () => ({
      processId: process.pid,
      rootUri: null,
      capabilities: {},
      clientInfo: { name: 'test' },
    }),
    log,
    ...options,
  });
  return { daemon, log };
}

/** Return the id of the daemon's process. The scripted daemon responds with this id to most requests. */
async function pidOf(daemon: Daemon): Promise<number> {
  const answer: unknown = await daemon.request('providers/list', {});
  return (answer as { pid: number }).pid;
}

async function failure(promise: Promise<unknown>): Promise<DaemonError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof DaemonError);
    return error;
  }
  return assert.fail('no error');
}

const QUESTION = { messages: [{ role: 'user', content: 'Tell me a story.' }] } as const;
const chat = (daemon: Daemon, onDelta: (delta: Delta) => void = () => undefined) =>
  daemon.turn('chat/start', { messages: [...QUESTION.messages] }, onDelta);

test('simultaneous requests start one process, and are both sent to it', async () => {
  const { daemon } = daemonThat('well');
  const states: string[] = [];
  daemon.onDidChangeState((state) => states.push(state));

  const [first, second] = await Promise.all([pidOf(daemon), pidOf(daemon)]);

  assert.equal(first, second);
  assert.deepEqual(states, ['starting', 'ready']);
  assert.equal(daemon.supports('chat/start'), true);
  assert.equal(daemon.supports('prompts/list'), false);
  daemon.dispose();
});

test('a request from a listener for the state does not start a second process', async () => {
  let launched = 0;
  const { daemon } = daemonThat('well', {
    launch: () => {
      launched += 1;
      return Promise.resolve(launch('well'));
    },
  });
  const asked: Promise<number>[] = [];
  daemon.onDidChangeState((state) => {
    if (state !== 'stopped') {
      asked.push(pidOf(daemon));
    }
  });

  const pid = await pidOf(daemon);

  assert.deepEqual(await Promise.all(asked), [pid, pid]);
  assert.equal(launched, 1);
  daemon.dispose();
});

test('after a crash, the turn fails with the reason, and the next request works', async () => {
  const { daemon } = daemonThat('well');
  const before = await pidOf(daemon);
  const deltas: Delta[] = [];

  const error = await failure(chat(daemon, (delta) => deltas.push(delta)));

  assert.deepEqual(deltas, [{ type: 'text_delta', block: 0, text: 'Once' }]);
  assert.equal(error.sentence, 'jumpseat ended unexpectedly (code 3). It is being restarted.');
  assert.notEqual(await pidOf(daemon), before);
  daemon.dispose();
});

test('a daemon that crashes too often is restarted only by the user', async () => {
  const { daemon, log } = daemonThat('well');
  const sentences: string[] = [];
  for (let crash = 0; crash < 6; crash++) {
    sentences.push((await failure(chat(daemon))).sentence);
  }
  assert.equal(sentences.filter((each) => each.endsWith('It is being restarted.')).length, 5);
  assert.match(sentences[5] ?? '', /"jumpseat: Restart Server" tries again/);
  assert.equal(daemon.state, 'failed');

  const states: string[] = [];
  daemon.onDidChangeState((state) => states.push(state));
  assert.equal(await failure(pidOf(daemon)), daemon.failure);
  assert.equal(daemon.failure?.sentence, sentences[5]);
  assert.deepEqual(states, []);
  assert.equal(log.lines.filter((line) => line.startsWith('info Starting')).length, 6);

  await daemon.restart();
  assert.equal(daemon.state, 'ready');
  daemon.dispose();
});

const UNFIT: [string, RegExp][] = [
  [
    'older',
    /^jumpseat 0\.0\.1 at .*node.* is too old for this extension \(it lacks edit\/start\)\. Upgrade it/,
  ],
  ['newer', /^jumpseat 0\.0\.1 at .*node.* uses a different version of the protocol/],
  ['broken', /^jumpseat ended with code 3 before it was ready\. .*Show Log/],
  ['silent', /^jumpseat did not answer within 1 seconds\./],
];

for (const [behaviour, sentence] of UNFIT) {
  test(`a daemon that is ${behaviour} is not used, and the error says why`, async () => {
    const { daemon, log } = daemonThat(behaviour, { initializeMs: behaviour === 'silent' ? 700 : 20_000 });

    const error = await failure(pidOf(daemon));

    assert.match(error.sentence, sentence);
    assert.equal(daemon.state, 'failed');
    assert.equal(daemon.failure, error);
    await until(() => log.lines.some((line) => line.startsWith('info jumpseat ended')), 'the process ends');
    if (behaviour === 'broken') {
      assert.ok(log.lines.includes('error ERROR jumpseat: no module named x'));
    }
    daemon.dispose();
  });
}

test('the error for a missing program names the program', async () => {
  const { daemon } = daemonThat('well', {
    launch: () => Promise.resolve({ program: '/nowhere/jumpseat', args: [], env: {} }),
  });
  const error = await failure(pidOf(daemon));

  assert.equal(error.code, Code.config);
  assert.match(error.sentence, /\/nowhere\/jumpseat could not be started: .*ENOENT.*jumpseat\.path/);
  daemon.dispose();
});

test('a superseded start does not spawn a process, and its requests use the next one', async () => {
  const launches: ((launch: Launch) => void)[] = [];
  const { daemon, log } = daemonThat('well', {
    launch: () =>
      new Promise((resolve) => {
        launches.push(resolve);
      }),
  });
  const early = pidOf(daemon);
  await until(() => launches.length === 1, 'the first start looks for the program');
  const restarted = daemon.restart();
  await until(() => launches.length === 2, 'the second start looks for the program');
  launches.forEach((found) => {
    found(launch('well'));
  });

  await restarted;
  assert.equal(await early, await pidOf(daemon));
  assert.equal(log.lines.filter((line) => line.startsWith('info Starting')).length, 1);
  daemon.dispose();
});

test('`launch` learns whether the user restarted, so that it can retry a failed installation', async () => {
  const asked: boolean[] = [];
  const { daemon } = daemonThat('well', {
    launch: (byUser) => {
      asked.push(byUser);
      return Promise.resolve(launch('well'));
    },
  });
  const before = await pidOf(daemon);
  await daemon.restart();

  assert.notEqual(await pidOf(daemon), before);
  assert.deepEqual(asked, [false, true]);
  daemon.dispose();
});

test('a request can be cancelled while the daemon starts', async () => {
  const { daemon } = daemonThat('well', { launch: () => new Promise<Launch>(() => undefined) });
  const source = new CancellationTokenSource();
  const asked = failure(daemon.request('models/list', {}, source.token));
  source.cancel();

  assert.equal((await asked).cancelled, true);
  assert.equal((await failure(daemon.request('models/list', {}, source.token))).cancelled, true);
  daemon.dispose();
});

test('a daemon that is disposed rejects requests, and its process ends', async () => {
  const { daemon, log } = daemonThat('well');
  await pidOf(daemon);
  daemon.dispose();

  assert.equal((await failure(pidOf(daemon))).code, Code.connection);
  await until(() => log.lines.includes('info jumpseat ended: code 0'), 'the process ends in order');
  assert.equal(daemon.state, 'stopped');
});
