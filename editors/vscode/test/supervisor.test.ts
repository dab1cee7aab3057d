import assert from 'node:assert/strict';
import { test } from 'node:test';

import { commandLine } from '../src/daemon/program';
import { Daemon } from '../src/daemon/supervisor';
import { home, Lines } from './real';

const program = process.env.JUMPSEAT;

test('a request starts the real daemon', { skip: !program && 'JUMPSEAT names no program' }, async () => {
  const daemon = new Daemon({
    launch: () =>
      Promise.resolve(
        commandLine(program ?? '', { path: '', config: '', logLevel: 'info' }, home(), process.pid),
      ),
    initializeParams: () => ({
      processId: process.pid,
      rootUri: null,
      capabilities: {},
      clientInfo: { name: 'test' },
    }),
    log: new Lines(),
  });
  const { providers } = await daemon.request('providers/list', {});
  assert.deepEqual([daemon.state, providers.length > 0], ['ready', true]);
  daemon.dispose();
});
