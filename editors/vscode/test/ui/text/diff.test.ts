import assert from 'node:assert/strict';
import { test } from 'node:test';

import { computeDiff } from '../../../src/ui/text/diff';
import { asCode, escapeMarkdown, fence } from '../../../src/ui/text/markdown';

test('a diff has the change with two lines around it', () => {
  assert.deepEqual(computeDiff('a\nb\nc\nd\ne\nf\n', 'a\nb\nc\nD\nE\ne\nf\n', 20), {
    lines: [' b', ' c', '-d', '+D', '+E', ' e', ' f'],
    omitted: 0,
  });
});

test('repeated lines are not counted on both sides of a diff', () => {
  assert.deepEqual(computeDiff('x\nx\n', 'x\nx\nx\n', 20).lines, [' x', ' x', '+x']);
});

test('all lines of a new file are new', () => {
  assert.deepEqual(computeDiff(undefined, 'a\nb\n', 20).lines, ['+a', '+b']);
});

test('a long diff says how much was left out', () => {
  assert.deepEqual(computeDiff('', 'a\nb\nc\n', 2), { lines: ['+a', '+b'], omitted: 1 });
});

test('code that contains fences stays one block', () => {
  assert.equal(fence('```\nx\n```', 'diff'), '````diff\n```\nx\n```\n````\n');
  assert.equal(asCode('a `b`'), '`` a `b` ``');
  assert.equal(escapeMarkdown('[x](command:y) $(z)'), '\\[x\\]\\(command:y\\) \\$\\(z\\)');
});
