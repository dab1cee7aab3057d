import assert from 'node:assert/strict';
import { test } from 'node:test';

import { computeHunks } from '../../../src/ui/text/hunks';

/** The old and the new text of each hunk. */
function pairs(old: string, text: string): [string, string][] {
  return computeHunks(old, text).map((each) => [
    old.slice(each.old.start, each.old.end),
    text.slice(each.new.start, each.new.end),
  ]);
}

test('each run of changed lines is one hunk', () => {
  assert.deepEqual(pairs('a\nb\nc\nd\ne\n', 'a\nB\nC\nd\nE\n'), [
    ['b\nc\n', 'B\nC\n'],
    ['e\n', 'E\n'],
  ]);
});

test('inserted and deleted lines have an empty side', () => {
  assert.deepEqual(pairs('a\nb\n', 'x\na\n'), [
    ['', 'x\n'],
    ['b\n', ''],
  ]);
});

test('a last line without a line ending differs from one with it', () => {
  assert.deepEqual(pairs('a\r\nb', 'a\r\nb\r\n'), [['b', 'b\r\n']]);
});

test('equal texts have no hunks, and an empty old text has one hunk', () => {
  assert.deepEqual(pairs('a\n', 'a\n'), []);
  assert.deepEqual(pairs('', 'a\nb\n'), [['', 'a\nb\n']]);
});

test('texts with too many changes are one hunk', () => {
  const lines = (mark: string): string => Array.from({ length: 600 }, (_, i) => `${mark}${i}\n`).join('');
  assert.equal(computeHunks(`same\n${lines('a')}`, `same\n${lines('b')}`)[0]?.old.start, 0);
});
