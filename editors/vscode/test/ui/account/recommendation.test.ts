import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ModelInfo } from '../../../src/daemon/protocol';
import { recommendModels } from '../../../src/ui/account/recommendation';

function model(name: string, more: Partial<ModelInfo> = {}): ModelInfo {
  const base = { id: `lab:${name}`, provider: 'lab', model: name, name, pickerEnabled: true };
  return { ...base, isDefault: false, deprecated: false, ...more } as ModelInfo;
}

function recommend(...models: ModelInfo[]): (string | undefined)[] {
  const found = recommendModels(models);
  return [found?.utility.name, found?.small.name];
}

const DEFAULT = model('gpt-5', { isDefault: true });

test('the default model and a small model of the same provider are recommended', () => {
  assert.deepEqual(recommend(model('gpt-4'), DEFAULT, model('gpt-5-mini')), ['gpt-5', 'gpt-5-mini']);
  assert.deepEqual(recommend(DEFAULT, model('haiku', { provider: 'other' })), ['gpt-5', 'gpt-5']);
  assert.deepEqual(recommend(model('qwen3:30b', { isDefault: true }), model('qwen3:4b')), [
    'qwen3:30b',
    'qwen3:4b',
  ]);
});

test('a model that costs less is recommended for short texts, and never one that costs more', () => {
  const free = model('gpt-4.1', { billing: { multiplier: 0 } });
  const dear = model('opus-fast', { billing: { multiplier: 30 } });
  assert.deepEqual(recommend(DEFAULT, model('gpt-5-mini'), free, dear), ['gpt-5', 'gpt-4.1']);
  assert.deepEqual(recommend(DEFAULT, dear), ['gpt-5', 'gpt-5']);
});

test('a model that cannot be used is not recommended', () => {
  const hidden = model('mini', { pickerEnabled: false });
  assert.deepEqual(recommend(hidden, DEFAULT, model('nano', { policy: 'unconfigured' })), ['gpt-5', 'gpt-5']);
  assert.equal(recommendModels([hidden]), undefined);
});
