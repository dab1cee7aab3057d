import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Block } from '../../../src/daemon/protocol';
import {
  asMetadata,
  findConversation,
  buildMessages,
  NOT_SENT,
  readRecord,
  type TurnRecord,
} from '../../../src/ui/chat/turns';

const text = (value: string): Block[] => [{ type: 'text', text: value }];
const QUESTION = text('And now?');

test('a past turn is sent again with exactly the same blocks', () => {
  const record: TurnRecord = {
    user: [{ type: 'context', text: 'x = 1', uri: 'file:///a.py' }, ...text('What is x?')],
    assistant: [{ type: 'thinking', thinking: 'Hm', signature: 's' }, ...text('1')],
  };
  assert.deepEqual(buildMessages([{ prompt: 'What is x?', answer: '1', record }], QUESTION), [
    { role: 'user', content: record.user },
    { role: 'assistant', content: record.assistant },
    { role: 'user', content: QUESTION },
  ]);
});

test('a turn of an older version is sent as the chat shows it', () => {
  assert.deepEqual(buildMessages([{ prompt: 'Hi', answer: 'Hello' }], QUESTION), [
    { role: 'user', content: text('Hi') },
    { role: 'assistant', content: text('Hello') },
    { role: 'user', content: QUESTION },
  ]);
});

test('the text of a refusal is not sent again', () => {
  const record: TurnRecord = { user: text('Do it'), assistant: text('No.'), refused: true };
  assert.deepEqual(buildMessages([{ prompt: 'Do it', answer: 'No.', record }], QUESTION), [
    { role: 'user', content: text('Do it') },
    { role: 'user', content: QUESTION },
  ]);
});

test('a question that failed without an answer and is asked again is sent once', () => {
  const record: TurnRecord = { user: QUESTION, assistant: [], failed: true };
  assert.deepEqual(buildMessages([{ prompt: 'And now?', answer: '', record }], QUESTION), [
    { role: 'user', content: QUESTION },
  ]);
});

test('a question that failed and was asked again is sent once, in later turns too', () => {
  const failed: TurnRecord = { user: text('First'), assistant: [], failed: true };
  const past = [
    { prompt: 'First', answer: '', record: failed },
    { prompt: 'First', answer: '1', record: { user: text('First'), assistant: text('1') } },
  ];
  assert.deepEqual(buildMessages(past, QUESTION), [
    { role: 'user', content: text('First') },
    { role: 'assistant', content: text('1') },
    { role: 'user', content: QUESTION },
  ]);
});

test('a question that failed is sent before a different question', () => {
  const record: TurnRecord = { user: text('First'), assistant: [], failed: true };
  assert.deepEqual(buildMessages([{ prompt: 'First', answer: '', record }], QUESTION), [
    { role: 'user', content: text('First') },
    { role: 'user', content: QUESTION },
  ]);
});

test('a turn that no model has seen is not sent', () => {
  const past = [{ prompt: '/prompt', answer: 'Choose: /a', record: NOT_SENT }];
  assert.deepEqual(buildMessages(past, QUESTION), [{ role: 'user', content: QUESTION }]);
});

test('a chat continues its most recent kept conversation', () => {
  const turnIn = (conversationId?: string): { prompt: string; answer: string; record: TurnRecord } => ({
    prompt: '',
    answer: '',
    record: { user: [], assistant: [], ...(conversationId !== undefined && { conversationId }) },
  });
  assert.equal(findConversation([turnIn('a'), turnIn('b'), turnIn()]), 'b');
  assert.equal(findConversation([turnIn()]), undefined);
});

test('a record is read back from the metadata of a result; other metadata is ignored', () => {
  const record: TurnRecord = { user: QUESTION, assistant: text('Yes') };
  assert.deepEqual(
    readRecord(JSON.parse(JSON.stringify(asMetadata(record))) as Record<string, unknown>),
    record,
  );
  assert.equal(readRecord({ jumpseat: { user: 'x' } }), undefined);
  assert.equal(readRecord({ jumpseat: null }), undefined);
  assert.equal(readRecord(undefined), undefined);
});
