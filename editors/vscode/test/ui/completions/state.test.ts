import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cancelled, DaemonError } from '../../../src/daemon/errors';
import { CompletionState } from '../../../src/ui/completions/state';
import { formatCompletionStatus } from '../../../src/ui/completions/statusText';

const RESULT = { provider: 'here', model: 'coder:1.5b', text: 'a + b', stopReason: 'end_turn' };

function fail(retryable: boolean): DaemonError {
  return new DaemonError(retryable ? 1008 : 1004, 'It failed.', {
    kind: 'request',
    retryable,
    hint: 'Wait.',
  });
}

test('the state has the model of the last completion, and whether one is running', async () => {
  const state = new CompletionState();
  const shown: boolean[] = [];
  state.onDidChange(() => shown.push(state.isRunning));
  assert.equal(await state.run(() => Promise.resolve(RESULT)), RESULT);
  assert.equal(state.model, 'here:coder:1.5b');
  assert.deepEqual(shown, [true, false]);
});

test('after a temporary failure, completions rest for ten seconds', async () => {
  let now = 0;
  const state = new CompletionState(() => now);
  await assert.rejects(state.run(() => Promise.reject(fail(true))));
  assert.equal(state.failure?.sentence, 'It failed. Wait.');
  now = 9999;
  assert.equal(state.isResting, true);
  now = 10_000;
  assert.equal(state.isResting, false);
});

test('after any other failure, completions rest until something changes or one succeeds', async () => {
  const state = new CompletionState(() => 1e12);
  await assert.rejects(state.run(() => Promise.reject(fail(false))));
  assert.equal(state.isResting, true);
  state.forget();
  assert.equal(state.isResting, false);
  await assert.rejects(state.run(() => Promise.reject(fail(false))));
  await state.run(() => Promise.resolve(RESULT));
  assert.deepEqual([state.isResting, state.failure], [false, undefined]);
});

test('a cancelled completion is not a failure', async () => {
  const state = new CompletionState();
  await assert.rejects(state.run(() => Promise.reject(cancelled())));
  assert.deepEqual([state.isRunning, state.isResting, state.failure], [false, false, undefined]);
});

test('the status shows the model, whether a completion is running, and a failure', () => {
  const on = { enabled: true, model: 'here:coder:1.5b', isRunning: false };
  const text = (facts: object): string => formatCompletionStatus({ ...on, ...facts }).text;
  assert.equal(text({}), '$(sparkle) coder:1.5b');
  assert.equal(text({ isRunning: true }), '$(loading~spin) coder:1.5b');
  assert.equal(text({ model: '' }), '$(sparkle) default model');
  assert.equal(text({ enabled: false }), '$(circle-slash) Completions');
  const failed = formatCompletionStatus({ ...on, problem: 'It *failed*.' });
  assert.equal(failed.text, '$(warning) coder:1.5b');
  assert.match(failed.tooltip, /^It \\\*failed\\\*\\\./);
  assert.equal(failed.label, 'jumpseat completions have failed: It *failed*.');
});
