import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { CancellationToken, CancellationTokenSource } from 'vscode-jsonrpc/node';

import { waitForPause } from '../../../src/ui/completions/pause';

test('the wait ends after the given time, and not before', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const done = mock.fn();
  const waiting = waitForPause(250, CancellationToken.None).then(done);
  context.mock.timers.tick(249);
  await Promise.resolve();
  assert.equal(done.mock.callCount(), 0);
  context.mock.timers.tick(1);
  await waiting;
  assert.deepEqual(done.mock.calls[0]?.arguments, [true]);
});

test('a cancellation before or during the wait ends it immediately', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const source = new CancellationTokenSource();
  const waiting = waitForPause(250, source.token);
  source.cancel();
  assert.equal(await waiting, false);
  assert.equal(await waitForPause(250, CancellationToken.Cancelled), false);
});
