import assert from 'node:assert/strict';
import { test } from 'node:test';

import { describeRest, fitDiff } from '../../../src/ui/scm/fit';

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

test('the limit is in bytes', () => {
  const diff = change('a.py', '€'.repeat(100)) + change('b.py', 'one');
  assert.ok(diff.length < 300);
  assert.deepEqual(fitDiff(diff, 300), { diff: change('b.py', 'one'), leftOut: ['a.py'] });
});

test('if no file fits, the shortest is cut off at a line', () => {
  const head = change('a.py', '€');
  const short = `${head}+${'€'.repeat(100)}\n`;
  const long = change('all.lock', 'x'.repeat(1000));
  assert.deepEqual(fitDiff(short, 200), { diff: head, cutOff: 'a.py', leftOut: [] });
  assert.deepEqual(fitDiff(long + short, 200), { diff: head, cutOff: 'a.py', leftOut: ['all.lock'] });
  assert.equal(fitDiff(long, Buffer.byteLength(head)).cutOff, 'all.lock');
});

test('the model and the user are told exactly what the diff lacks', () => {
  const describe = (diff: string): string[] => {
    const { warning, note } = describeRest(fitDiff(diff, 200)) ?? {};
    return [warning ?? '', note ?? ''];
  };
  const [short, long] = [change('a.py', 'one'), change('all.lock', 'x'.repeat(1000))];
  const longer = change('more.lock', 'x'.repeat(2000));
  assert.deepEqual(describe(short), ['', '']);
  assert.deepEqual(describe(short + long), [
    'The diff is too long for the model. These files are left out: all.lock',
    'These files have changed too, but their diffs are too long: all.lock',
  ]);
  assert.deepEqual(describe(long), [
    'The diff of all.lock is too long for the model. Only its beginning is used.',
    'The diff of all.lock is too long, so it is cut off here.',
  ]);
  assert.deepEqual(describe(longer + long), [
    'The diff is too long for the model. Only the beginning of all.lock is used, and these files are left out: more.lock',
    'The diff of all.lock is too long, so it is cut off here.\n' +
      'These files have changed too, but their diffs are too long: more.lock',
  ]);
});

test('at most twenty files that are left out are named', () => {
  const leftOut = Array.from({ length: 21 }, (_, index) => `f${index}`);
  assert.match(describeRest({ diff: '', leftOut })?.note ?? '', /: f0, .*, f19, …$/);
  assert.match(describeRest({ diff: '', leftOut: leftOut.slice(1) })?.note ?? '', /, f20$/);
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
  const small = 'diff --git a/a b/a\n';
  assert.deepEqual(fitDiff(renamed + mnemonic + plain + small, 30).leftOut, [
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
  assert.equal(fitDiff(diff, 1).cutOff, 'ä\t.txt');
  assert.deepEqual(fitDiff(diff, 1).leftOut, ['dir/ä "q"\t\\.txt', 'nëw.txt']);
});

test('without a prefix of Git, a directory with one letter stays', () => {
  assert.equal(fitDiff('diff --git a/one.py a/one.py\n', 1).cutOff, 'a/one.py');
});
