import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ChatResult, Delta } from '../src/daemon/protocol';
import { Answer, checkWhole, type Parts } from '../src/provider/answer';
import { Lines } from './helpers';

const PARTS: Parts<string> = {
  text: (text) => `text ${text}`,
  thinking: (text, id) => `thinking ${id} ${text}`,
  thinkingEnd: () => 'thinking ends',
  toolCall: (id, name, input) => `call ${id} ${name} ${JSON.stringify(input)}`,
  usage: (counts) => `usage ${JSON.stringify(counts)}`,
};

function parts(deltas: Delta[], makers = PARTS): { reported: string[]; log: string[] } {
  const reported: string[] = [];
  const log = new Lines();
  const answer = new Answer('t', makers, (part) => reported.push(part), log);
  deltas.forEach(answer.take);
  return { reported, log: log.lines };
}

const call = (input: Record<string, unknown> | null) =>
  ({ type: 'tool_use', id: 'c', name: 'look', arguments: input }) as const;

test('text, thinking, complete calls and usage become parts in order of arrival', () => {
  const { reported } = parts([
    { type: 'start', provider: 'fake', model: 'm' },
    { type: 'response', model: 'm' },
    { type: 'thinking_start', block: 0 },
    { type: 'thinking_delta', block: 0, text: 'Hm' },
    { type: 'thinking_done', block: 0, content: { type: 'thinking', thinking: 'Hm' } },
    { type: 'text_start', block: 1 },
    { type: 'text_delta', block: 1, text: 'Let ' },
    { type: 'text_delta', block: 1, text: 'me' },
    { type: 'tool_use_start', block: 2, id: 'c', name: 'look' },
    { type: 'tool_use_delta', block: 2, argumentDelta: '{"at":' },
    { type: 'tool_use_done', block: 2, content: call({ at: 1 }) },
    {
      type: 'done',
      stopReason: 'tool_use',
      usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 4, cacheCreationTokens: 0 },
    },
  ]);

  assert.deepEqual(reported, [
    'thinking t-1-0 Hm',
    'thinking ends',
    'text Let ',
    'text me',
    'call c look {"at":1}',
    'usage {"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}',
  ]);
});

test('a VS Code without thinking parts receives all other parts', () => {
  const without: Parts<string> = { ...PARTS, thinking: () => undefined, thinkingEnd: () => undefined };
  const deltas: Delta[] = [
    { type: 'thinking_delta', block: 0, text: 'Hm' },
    { type: 'text_delta', block: 1, text: 'Yes' },
  ];
  assert.deepEqual(parts(deltas, without).reported, ['text Yes']);
});

test('a delta type that only a newer daemon has is ignored', () => {
  assert.deepEqual(parts([{ type: 'music_delta' } as unknown as Delta]).reported, []);
});

test('warnings and retries are logged', () => {
  const { log } = parts([
    { type: 'warning', code: 'thinking_dropped', message: 'No levels.' },
    {
      type: 'retry',
      attempt: 2,
      maxAttempts: 3,
      delayMs: 500,
      error: { code: 1007, message: 'The server is busy.' },
    },
  ]);
  assert.deepEqual(log, [
    'warn thinking_dropped: No levels.',
    'info The server is busy. Attempt 2 of 3 follows.',
  ]);
});

function result(facts: Partial<ChatResult>): ChatResult {
  return {
    turnId: 't',
    provider: 'fake',
    model: 'm',
    content: [],
    text: 'Some',
    toolCalls: [],
    stopReason: 'end_turn',
    ...facts,
  };
}

test('a complete answer passes the check', () => {
  checkWhole(result({}), false);
  checkWhole(result({ text: '', toolCalls: [call({})], stopReason: 'tool_use' }), false);
  checkWhole(result({ stopReason: 'refusal' }), false);
});

test('an answer may end at a limit that its caller set, even without any text', () => {
  checkWhole(result({ stopReason: 'max_tokens' }), true);
  checkWhole(result({ stopReason: 'max_tokens', text: '' }), true);
});

const BROKEN: [Partial<ChatResult>, RegExp][] = [
  [{ stopReason: 'max_tokens' }, /maximum length.*max_tokens/],
  [{ stopReason: 'context_exceeded' }, /context of the model is full/],
  [{ stopReason: 'content_filter' }, /filter/],
  [{ toolCalls: [{ ...call(null), error: 'it is cut off' }] }, /the tool look .*: it is cut off/],
  [{ text: '' }, /without any text/],
  [{ text: '', stopReason: 'refusal' }, /declined/],
  [
    { text: '', stopReason: 'refusal', warnings: [{ code: 'refusal', message: 'Not about that.' }] },
    /Not about that/,
  ],
];

for (const [facts, message] of BROKEN) {
  test(`a broken answer is an error: ${JSON.stringify(facts)}`, () => {
    assert.throws(() => {
      checkWhole(result(facts), false);
    }, message);
  });
}
