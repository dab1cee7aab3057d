import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fitDiff } from '../../../src/ui/scm/fit';

function change(name: string, text: string): string {
  return `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+${text}\n`;
}

test('a diff that fits is sent as it is', () => {
  const diff = change('a.py', 'one') + change('b.py', 'two');
  assert.deepEqual(fitDiff(diff, Buffer.byteLength(diff)), { diff, leftOut: [] });
});

test('the longest files are left out as a whole, and the others stay in order', () => {
  const [first, long, last] = [
    change('z.py', 'one'),
    change('my lock', 'x'.repeat(1000)),
    change('a.py', 'two'),
  ];
  const fitted = fitDiff(first + long + last, 500);
  assert.deepEqual(fitted, { diff: first + last, leftOut: ['my lock'] });
});

test('the limit is in bytes, and no file may fit', () => {
  const diff = change('a.py', '€'.repeat(100));
  assert.equal(fitDiff(diff, 300).diff, '');
  assert.deepEqual(fitDiff(diff, 300).leftOut, ['a.py']);
  assert.ok(diff.length < 300);
});

test('an unmerged file is a file of its own', () => {
  const conflict = (kind: string): string =>
    `diff --${kind} "\\303\\244.txt"\nindex 2bdf67a,f719efd..0000000\n++${'x'.repeat(500)}\n`;
  const staged = change('b.txt', 'one');
  for (const kind of ['cc', 'combined']) {
    assert.deepEqual(fitDiff(staged + conflict(kind), 200), { diff: staged, leftOut: ['ä.txt'] });
  }
});

test('a file that is left out is named without the prefix of Git, and with its new name', () => {
  const text = 'x'.repeat(100);
  const renamed = `diff --git a/old.py b/longer name.py\nrename from old.py\nrename to longer name.py\n+${text}\n`;
  const mnemonic = `diff --git i/dir/one.py w/dir/one.py\n+${text}\n`;
  const plain = `diff --git dir/two.py dir/two.py\n+${text}\n`;
  assert.deepEqual(fitDiff(renamed + mnemonic + plain, 10).leftOut, [
    'longer name.py',
    'dir/one.py',
    'dir/two.py',
  ]);
});

test('a name that Git has quoted is decoded', () => {
  const names = String.raw`"a/dir/\303\244 \"q\"\t\\.txt" "b/dir/\303\244 \"q\"\t\\.txt"`;
  const renamed = String.raw`diff --git a/old.txt "b/n\303\253w.txt"
rename from old.txt
rename to "n\303\253w.txt"
`;
  const unescaped = String.raw`diff --git "a/ä\t.txt" "b/ä\t.txt"`;
  const diff = `diff --git ${names}\n${renamed}${unescaped}\n`;
  assert.equal(fitDiff(diff, 1).leftOut.pop(), 'ä\t.txt');
  assert.deepEqual(fitDiff(diff, 1).leftOut.slice(0, 2), ['dir/ä "q"\t\\.txt', 'nëw.txt']);
});

test('without a prefix of Git, a directory with one letter stays', () => {
  assert.equal(fitDiff('diff --git a/one.py a/one.py\n', 1).leftOut[0], 'a/one.py');
});
