import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isWithinWord, MOST_CHARACTERS, splitAt } from '../../../src/ui/completions/place';

test('a text is split at the cursor', () => {
  assert.deepEqual(splitAt('a𝄞b\r\nc', 4, 'block'), { prefix: 'a𝄞b', suffix: '\r\nc', extent: 'block' });
  assert.deepEqual(splitAt('ab', 2, 'line'), { prefix: 'ab', suffix: '', extent: 'line' });
});

test('if text follows the cursor in its line, only the line is completed', () => {
  assert.equal(splitAt('f()\n', 2, 'block').extent, 'line');
  assert.equal(splitAt('f( \t\n)', 2, 'block').extent, 'block');
});

test('of a long text, only the characters near the cursor are sent', () => {
  const text = `${'a'.repeat(MOST_CHARACTERS)}bc${'d'.repeat(MOST_CHARACTERS)}`;
  const { prefix, suffix } = splitAt(text, MOST_CHARACTERS + 1, 'block');
  assert.equal(prefix, `${'a'.repeat(MOST_CHARACTERS - 1)}b`);
  assert.equal(suffix, `c${'d'.repeat(MOST_CHARACTERS - 1)}`);
});

test('the cursor is within a word if a letter, a digit or an underscore follows', () => {
  const within = ['|b', 'a|b', 'a|_', 'a|1', '|ß', 'x|𝒳'];
  const outside = ['', 'ab|', 'a| b', 'f(|)', 'a|\nb', '|🙂'];
  const check = (text: string): boolean =>
    isWithinWord(text.replace('|', ''), Math.max(text.indexOf('|'), 0));
  assert.deepEqual(
    within.map(check),
    within.map(() => true),
  );
  assert.deepEqual(
    outside.map(check),
    outside.map(() => false),
  );
});
