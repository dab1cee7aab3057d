import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { SettingsRow } from '../../../src/daemon/protocol';
import { findMistake, formatRule, parseValue } from '../../../src/ui/account/fields';

const UNLIMITED: SettingsRow = {
  key: 'temperature',
  order: 0,
  type: 'number',
  description: '',
  optional: false,
  mapping: 'parameters',
};
const NUMBER: SettingsRow = { ...UNLIMITED, minimum: 0, maximum: 2 };

test('a text is parsed as a value of the type of its row', () => {
  assert.equal(parseValue(NUMBER, '0.5'), 0.5);
  assert.equal(parseValue({ type: 'string' }, '0.5'), '0.5');
  assert.deepEqual(parseValue({ type: 'list' }, '["a"]'), ['a']);
  assert.throws(() => parseValue({ type: 'integer' }, '0.5'));
});

test('a mistake is found before a value is sent', () => {
  assert.equal(findMistake(NUMBER, '1'), undefined);
  assert.equal(findMistake(NUMBER, '3'), 'Enter a number from 0 to 2.');
  assert.equal(findMistake(NUMBER, '-1'), 'Enter a number from 0 to 2.');
  assert.equal(findMistake(NUMBER, 'x'), 'This must be of type number.');
  assert.equal(findMistake(NUMBER, ' '), 'This must not be empty.');
  assert.equal(findMistake({ ...NUMBER, optional: true }, ''), undefined);
  assert.equal(findMistake({ ...UNLIMITED, maximum: 2 }, '3'), 'Enter a number of at most 2.');
  assert.equal(findMistake({ ...UNLIMITED, minimum: 0 }, '-1'), 'Enter a number of at least 0.');
});

test('the values that a row allows are described', () => {
  assert.equal(formatRule({ ...NUMBER, type: 'enum', choices: ['low', 'high'] }), 'low, high');
  assert.equal(formatRule(NUMBER), 'number from 0 to 2');
  assert.equal(formatRule({ ...UNLIMITED, maximum: 2 }), 'number of at most 2');
  assert.equal(formatRule(UNLIMITED), 'number');
});
