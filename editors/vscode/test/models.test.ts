import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ModelInfo } from '../src/daemon/protocol';
import {
  limitsOf,
  listRows,
  toRow,
  thinkingOf,
  UNKNOWN_OUTPUT,
  UNKNOWN_WINDOW,
} from '../src/provider/models';
import { selectParameters } from '../src/provider/options';
import { estimate } from '../src/provider/tokens';

function model(facts: Partial<ModelInfo> = {}): ModelInfo {
  return {
    id: 'copilot:gpt-4.1',
    provider: 'copilot',
    model: 'gpt-4.1',
    name: 'GPT-4.1',
    family: 'gpt-4.1',
    version: 'gpt-4.1-2025-04-14',
    supportsVision: true,
    supportsToolUse: true,
    supportsStreaming: true,
    supportsThinking: false,
    supportsJson: true,
    preview: false,
    deprecated: false,
    pickerEnabled: true,
    isDefault: false,
    ...facts,
  };
}

const LIMITS: [string, Partial<ModelInfo>, number, number][] = [
  [
    'the window minus the output limit',
    { maxContextTokens: 400_000, maxOutputTokens: 128_000 },
    272_000,
    128_000,
  ],
  [
    'the prompt limit, if that is lower',
    { maxContextTokens: 200_000, maxPromptTokens: 128_000, maxOutputTokens: 64_000 },
    128_000,
    64_000,
  ],
  [
    'the window minus the output limit, even if the prompt limit is the whole window',
    { maxContextTokens: 128_000, maxPromptTokens: 128_000, maxOutputTokens: 16_000 },
    112_000,
    16_000,
  ],
  [
    'half of the window, if the output limit is the whole window',
    { maxContextTokens: 8192, maxOutputTokens: 8192 },
    4096,
    4096,
  ],
  [
    'the window minus the usual output limit, if the output limit is unknown',
    { maxContextTokens: 32_768 },
    32_768 - UNKNOWN_OUTPUT,
    UNKNOWN_OUTPUT,
  ],
  ['half of a small window, if the output limit is unknown', { maxContextTokens: 4096 }, 2048, 2048],
  ['the prompt limit, if the window is unknown', { maxPromptTokens: 64_000 }, 64_000, UNKNOWN_OUTPUT],
  [
    'the usual window minus the usual output limit, if nothing is known',
    {},
    UNKNOWN_WINDOW - UNKNOWN_OUTPUT,
    UNKNOWN_OUTPUT,
  ],
];

for (const [what, facts, maxInputTokens, maxOutputTokens] of LIMITS) {
  test(`the input limit of a model is ${what}`, () => {
    assert.deepEqual(limitsOf(model(facts)), { maxInputTokens, maxOutputTokens });
  });
}

test('models are listed if they are meant for pickers and no policy disables them', () => {
  const rows = listRows([
    model({ id: 'a:1' }),
    model({ id: 'a:2', pickerEnabled: false }),
    model({ id: 'a:3', policy: 'disabled' }),
    model({ id: 'a:4', policy: 'unconfigured' }),
  ]);

  assert.deepEqual(
    rows.map(({ id }) => id),
    ['a:1', 'a:4'],
  );
  assert.match(rows[1]?.tooltip ?? '', /its terms are not accepted yet/);
});

test('the first row is the default model, whichever that is', () => {
  const [first, ...others] = listRows([
    model({ id: 'a:1' }),
    model({ id: 'a:2', name: 'Two', isDefault: true }),
  ]);

  assert.deepEqual([first?.id, first?.name, first?.isDefault], ['default', '(default) Two', true]);
  assert.match(first?.tooltip ?? '', /The default model of jumpseat.* a:2/);
  assert.deepEqual(
    others.map(({ id }) => id),
    ['a:1', 'a:2'],
  );
});

test('a row contains the names, the abilities and the facts of its model', () => {
  const row = toRow(model({ maxContextTokens: 128_000, billing: { multiplier: 0.33 } }));

  assert.deepEqual(
    [row.id, row.name, row.family, row.version, row.detail],
    ['copilot:gpt-4.1', 'GPT-4.1', 'gpt-4.1', 'gpt-4.1-2025-04-14', 'copilot'],
  );
  assert.deepEqual(row.capabilities, { imageInput: true, toolCalling: true });
  assert.deepEqual([row.isUserSelectable, row.multiplierNumeric], [true, 0.33]);
  assert.equal(
    row.tooltip,
    'copilot:gpt-4.1 · 128,000 tokens of context · images, tools · counts 0.33× against the quota',
  );
  assert.equal(row.configurationSchema, undefined);
});

test('a thinking model has a menu of the levels that it supports', () => {
  const menu = (facts: Partial<ModelInfo>) =>
    toRow(model({ supportsThinking: true, ...facts })).configurationSchema?.properties.reasoningEffort;

  assert.deepEqual(menu({})?.enum, ['default', 'off', 'minimal', 'low', 'medium', 'high', 'max']);
  const some = menu({ thinkingLevels: ['medium', 'high', 'unheard'] });
  assert.deepEqual(some?.enum, ['default', 'off', 'medium', 'high']);
  assert.deepEqual(some.enumItemLabels, ['Auto', 'Off', 'Medium', 'High']);
  assert.equal(some.enumDescriptions.length, 4);
  assert.equal(some.default, 'default');
});

test('the thinking level is the one that the user or an agent of VS Code chose', () => {
  const chosen = ['default', 'off', 'low', 'high', 'none', 'minimal', 'xhigh', 'unheard', 7, undefined];
  assert.deepEqual(
    chosen.map((reasoningEffort) => thinkingOf({ reasoningEffort })),
    [undefined, 'off', 'low', 'high', 'off', 'minimal', 'max', undefined, undefined, undefined],
  );
  assert.equal(thinkingOf(undefined), undefined);
});

test('options become parameters, except markers of VS Code and unknown settings', () => {
  const options = {
    temperature: 0.2,
    max_tokens: 100,
    stop: 'END',
    mirostat: 1,
    _capturingTokenCorrelationId: 'x',
    _conversationId: 'c-1',
    top_p: null,
  };
  assert.deepEqual(
    selectParameters(options, { reasoningEffort: 'low' }, new Set(['temperature', 'top_p', 'max_tokens'])),
    {
      settings: { temperature: 0.2 },
      maxTokensDefault: 'model',
      maxTokens: 100,
      stopSequences: ['END'],
      conversationId: 'c-1',
      thinking: 'low',
    },
  );
  assert.deepEqual(selectParameters(undefined, undefined, new Set()), { maxTokensDefault: 'model' });
  assert.deepEqual(selectParameters({ max_tokens: 'many', stop: [1] }, {}, new Set()), {
    maxTokensDefault: 'model',
  });
});

test('text is estimated as a quarter of its bytes, in every form of a message', () => {
  assert.equal(estimate(''), 0);
  assert.equal(estimate('abcd'.repeat(25)), 25);
  assert.equal(estimate('日本語'), 3);
  const classes = { role: 1, content: [{ value: 'abcdefgh' }, { callId: 'a', name: 'f', input: { a: 1 } }] };
  const sent = { role: 1, content: [{ type: 'text', value: 'abcdefgh' }] };
  assert.equal(estimate(sent), 4 + 2);
  assert.equal(estimate(classes), 4 + 2 + 1 + 1 + 2);
  const image = { mimeType: 'image/png', data: Buffer.alloc(9000) };
  const pdf = { mimeType: 'application/pdf', data: Buffer.alloc(9000) };
  const mark = { mimeType: 'cache_control', data: Buffer.alloc(9000) };
  const json = { mimeType: 'application/json', data: Buffer.alloc(400) };
  assert.deepEqual(
    [image, pdf, mark, json].map((part) => estimate({ role: 1, content: [part] })),
    [1004, 2004, 4, 104],
  );
});
