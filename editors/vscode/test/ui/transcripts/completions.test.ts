import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ModelInfo, Provider, SettingsRow } from '../../../src/daemon/protocol';
import { describeValues, findSuggestions, type Known } from '../../../src/ui/transcripts/completions';

function row(key: string, more: Partial<SettingsRow>): SettingsRow {
  return {
    key,
    order: 0,
    type: 'number',
    description: `About ${key}.`,
    optional: true,
    mapping: 'parameters',
    ...more,
  };
}

const TEMPERATURE = row('temperature', { minimum: 0, maximum: 2, default: 1 });
const KNOWN: Known = {
  providers: [
    { id: 'fake', isDefault: true, settingsSchema: [TEMPERATURE] } as unknown as Provider,
    {
      id: 'other',
      settingsSchema: [
        row('thinking', { type: 'enum', choices: ['low', 'high'] }),
        row('raw', { type: 'boolean' }),
      ],
    } as unknown as Provider,
  ],
  models: [{ id: 'fake:m', maxContextTokens: 8000, isDefault: true } as ModelInfo],
  prompts: [{ name: 'review', description: 'Review a change', usesInput: true }],
};

/** Return the completions at the position of `|` in a text. */
function at(text: string): string[] {
  const before = text.slice(0, text.indexOf('|')).split('\n');
  const lines = text.replace('|', '').split('\n');
  return findSuggestions(lines, before.length - 1, before.at(-1)?.length ?? 0, KNOWN).map(
    (each) => each.text,
  );
}

test("the front matter's keys and the settings of the default provider are completed", () => {
  assert.deepEqual(at('---\nte|\n---\n'), ['model', 'system', 'settings', 'conversation', 'temperature']);
});

test('below `settings`, only settings of the provider in `model` are completed', () => {
  assert.deepEqual(at('---\nmodel: other:x\nsettings:\n  |\n---\n'), ['thinking', 'raw']);
});

test('the values of a setting are completed', () => {
  assert.deepEqual(at('---\nmodel: other:x\nthinking: |\n---\n'), ['low', 'high']);
  assert.deepEqual(at('---\nmodel: other:x\nraw: t|\n---\n'), ['true', 'false']);
  assert.deepEqual(at('---\ntemperature: |\n---\n'), []);
});

test('the completion of a model shows its limits', () => {
  assert.deepEqual(at('---\nmodel: |\n---\n'), ['fake:m']);
  const [model] = findSuggestions(['---', 'model: ', '---'], 1, 7, KNOWN);
  assert.equal(model?.detail, '8k context · default');
});

test('a prompt is completed where a question begins, and nowhere else', () => {
  assert.deepEqual(at('---\nmodel: m\n---\n\n## Me\n\n/|'), ['review']);
  assert.deepEqual(at('## Me\n\nWhat is\n/|'), []);
  assert.deepEqual(at('## Me\n\na /|'), []);
  assert.deepEqual(at('/re|'), ['review']);
});

test('text outside of the front matter has no keys', () => {
  assert.deepEqual(at('## Me\n\nte|'), []);
  assert.deepEqual(at('---\nnever closed\nte|'), []);
});

test('the values that a setting allows are described', () => {
  assert.equal(describeValues(TEMPERATURE), 'number, at least 0, at most 2, default 1');
});
