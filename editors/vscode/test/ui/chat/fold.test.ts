import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Delta } from '../../../src/daemon/protocol';
import { Fold } from '../../../src/ui/chat/fold';

function folded(...deltas: Delta[]): Fold {
  const fold = new Fold();
  deltas.forEach((delta) => {
    fold.add(delta);
  });
  return fold;
}

const THINKING: Delta[] = [
  { type: 'thinking_start', block: 0 },
  { type: 'thinking_delta', block: 0, text: 'Hm' },
];
const TEXT: Delta[] = [
  { type: 'text_start', block: 1 },
  { type: 'text_delta', block: 1, text: 'Hel' },
  { type: 'text_delta', block: 1, text: 'lo' },
];

test('an answer that was cut off keeps its texts and its thinking', () => {
  assert.deepEqual(folded(...THINKING, ...TEXT).content(), [
    { type: 'thinking', thinking: 'Hm' },
    { type: 'text', text: 'Hello' },
  ]);
});

test("a finished block is replaced with the daemon's block, which has a signature", () => {
  const done: Delta = {
    type: 'thinking_done',
    block: 0,
    content: { type: 'thinking', thinking: 'Hm', signature: 's' },
  };
  assert.deepEqual(folded(...THINKING, done).content(), [
    { type: 'thinking', thinking: 'Hm', signature: 's' },
  ]);
});

test('a block without text is left out', () => {
  assert.deepEqual(folded({ type: 'text_start', block: 0 }).content(), []);
});

test('the blocks of an answer are discarded if the provider starts it again', () => {
  const response: Delta = { type: 'response', model: 'm' };
  const fold = folded(response, ...TEXT);
  assert.equal(fold.restarted, false);
  fold.add(response);
  assert.equal(fold.restarted, true);
  assert.deepEqual(fold.content(), []);
});
