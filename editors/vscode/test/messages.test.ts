import assert from 'node:assert/strict';
import { test } from 'node:test';

import { convertConversation, convertTools } from '../src/provider/messages';

const text = (value: string) => ({ value });
const data = (value: string, mimeType: string) => ({ mimeType, data: Buffer.from(value) });
const [USER, ASSISTANT, SYSTEM] = [1, 2, 3];

test('a conversation keeps its texts, calls and results', () => {
  const { messages, system } = convertConversation([
    { role: SYSTEM, content: [text('Be brief.')] },
    { role: USER, content: [text('Is it warm in Rome?')] },
    {
      role: ASSISTANT,
      content: [text('I ask.'), { callId: 'call_1', name: 'weather', input: { city: 'Rome' } }],
    },
    { role: USER, content: [{ callId: 'call_1', content: [text('24 '), text('degrees')] }] },
  ]);

  assert.equal(system, 'Be brief.');
  assert.deepEqual(messages, [
    { role: 'user', content: [{ type: 'text', text: 'Is it warm in Rome?' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I ask.' },
        { type: 'tool_use', id: 'call_1', name: 'weather', arguments: { city: 'Rome' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', toolUseId: 'call_1', content: '24 degrees' }] },
  ]);
});

test('thinking and unknown data are skipped and reported', () => {
  const skipped: string[] = [];
  const { messages } = convertConversation(
    [
      { role: USER, content: [text('Hello'), data('ephemeral', 'cache_control')] },
      {
        role: ASSISTANT,
        content: [
          { value: 'They greet.', id: 'x', metadata: { signature: 's' } },
          data('{"marker":1}', 'stateful_marker'),
          data('…', 'phase_data'),
          text('Hi'),
        ],
      },
      { role: USER, content: [data('only a mark', 'cache_control')] },
    ],
    (what) => skipped.push(what),
  );

  assert.deepEqual(
    messages.map(({ content }) => content),
    [[{ type: 'text', text: 'Hello' }], [{ type: 'text', text: 'Hi' }]],
  );
  assert.deepEqual(skipped, [
    'data of the type cache_control',
    'a part without text',
    'data of the type stateful_marker',
    'data of the type phase_data',
    'data of the type cache_control',
  ]);
});

test('images and PDFs are sent, including those in the result of a tool', () => {
  const png = data('png', 'image/png');
  const image = { type: 'image', source: Buffer.from('png').toString('base64'), mediaType: 'image/png' };
  const pdf = data('%PDF', 'application/pdf');
  const document = { ...image, type: 'document', source: 'JVBERg==', mediaType: 'application/pdf' };
  const { messages } = convertConversation([
    { role: USER, content: [text('What is it?'), png, pdf] },
    { role: ASSISTANT, content: [{ callId: 'a', name: 'look', input: {} }] },
    { role: USER, content: [{ callId: 'a', content: [text('A picture:'), png, pdf], isError: true }] },
  ]);

  assert.deepEqual(messages[0]?.content, [{ type: 'text', text: 'What is it?' }, image, document]);
  assert.deepEqual(messages[2]?.content, [
    {
      type: 'tool_result',
      toolUseId: 'a',
      content: [{ type: 'text', text: 'A picture:' }, image, document],
      isError: true,
    },
  ]);
});

test('a call gets the role assistant, and a result gets the role user, in any message', () => {
  const { messages } = convertConversation([
    { role: USER, content: [text('Go on')] },
    {
      role: ASSISTANT,
      content: [
        { callId: 'a', name: 'look', input: {} },
        { callId: 'a', content: [] },
      ],
    },
    { role: USER, content: [{ callId: 'b', name: 'look', input: {} }] },
  ]);

  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user', 'assistant'],
  );
});

test('an input that is not an object becomes an empty object', () => {
  const inputs = ['{"a":1}', null, [1], undefined];
  const { messages } = convertConversation([
    { role: ASSISTANT, content: inputs.map((input, index) => ({ callId: `${index}`, name: 'f', input })) },
  ]);

  assert.deepEqual(
    (messages[0]?.content as { arguments: unknown }[]).map((each) => each.arguments),
    [{}, {}, {}, {}],
  );
});

test('text is read from strings, prompt-tsx elements and textual data', () => {
  const element = {
    node: {
      type: 1,
      children: [
        { type: 2, text: 'Found ' },
        { type: 1, children: [{ type: 2, text: 'two files.', lineBreakBefore: false }] },
        { type: 2, text: 'a.py', lineBreakBefore: true },
      ],
    },
  };
  const { messages } = convertConversation([
    { role: USER, content: 'a string' },
    {
      role: USER,
      content: [
        {
          callId: 'a',
          content: [{ value: element }, data('{"b":1}', 'application/json'), data('c', 'text/plain')],
        },
      ],
    },
  ]);

  assert.deepEqual(
    messages.map(({ content }) => content),
    [
      [{ type: 'text', text: 'a string' }],
      [{ type: 'tool_result', toolUseId: 'a', content: 'Found two files.\na.py{"b":1}c' }],
    ],
  );
});

test('system messages are joined, wherever they are', () => {
  const { system, messages } = convertConversation([
    { role: SYSTEM, content: [text('One.'), data('ephemeral', 'cache_control')] },
    { role: USER, content: [text('Hello')] },
    { role: SYSTEM, content: [text('Two.')] },
  ]);

  assert.equal(system, 'One.\n\nTwo.');
  assert.equal(messages.length, 1);
});

test('tools keep their schema', () => {
  const inputSchema = { type: 'object' };
  assert.deepEqual(
    convertTools([
      { name: 'a', description: 'A', inputSchema },
      { name: 'b', description: 'B', inputSchema: undefined },
    ]),
    [
      { name: 'a', description: 'A', parameters: inputSchema },
      { name: 'b', description: 'B' },
    ],
  );
});
