import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { EditResult } from '../../../src/daemon/protocol';
import { Rewrite } from '../../../src/ui/edit/rewrite';

const TEXT = 'a = 1\nb = 2\nc = 3\n';
const SPAN = { start: 6, end: 17 };

function result(replacement?: string): EditResult {
  return {
    turnId: 't',
    provider: 'p',
    model: 'm',
    content: [],
    text: '',
    toolCalls: [],
    stopReason: 'end_turn',
    ...(replacement !== undefined && { replacement }),
  };
}

test('the proposal contains the complete lines, and the remaining old lines below them', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.add('```python\nb = 20\nc =');
  assert.equal(rewrite.proposal(TEXT), 'a = 1\nb = 20\nc = 3\n');
});

test('before the first complete line, the proposal is the unchanged text', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.add('Here');
  assert.equal(rewrite.proposal(TEXT), TEXT);
});

test('if an answer starts again, its earlier text is discarded', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.add('b = 7\n');
  rewrite.clear();
  assert.equal(rewrite.proposal(TEXT), TEXT);
});

test("the finished proposal contains the daemon's replacement", () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.add('```\nb = 20\n```');
  assert.equal(rewrite.storeResult(result('b = 20')), true);
  assert.equal(rewrite.proposal(TEXT), 'a = 1\nb = 20\n');
});

test('without a replacement there is nothing to apply; an empty one deletes the piece', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  assert.equal(rewrite.storeResult(result()), false);
  assert.equal(rewrite.storeResult(result('')), true);
  assert.equal(rewrite.proposal(TEXT), 'a = 1\n\n');
});

test('the replacement gets the line endings of the document', () => {
  const text = TEXT.replaceAll('\n', '\r\n');
  const rewrite = new Rewrite(text, { start: 7, end: 19 }, '\r\n');
  rewrite.add('b = 20\n');
  assert.equal(rewrite.proposal(text), 'a = 1\r\nb = 20\r\nc = 3\r\n');
  rewrite.storeResult(result('b = 20\nc = 30'));
  assert.equal(rewrite.replacement, 'b = 20\r\nc = 30');
});

test('a change before the piece moves it', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.follow([{ offset: 0, length: 0, text: '# top\n' }]);
  const text = `# top\n${TEXT}`;
  assert.equal(rewrite.isUnchangedIn(text), true);
  rewrite.storeResult(result('b = 20'));
  assert.equal(rewrite.proposal(text), '# top\na = 1\nb = 20\n');
});

test('a change of the piece itself is noticed', () => {
  const rewrite = new Rewrite(TEXT, SPAN, '\n');
  rewrite.follow([{ offset: 10, length: 1, text: '9' }]);
  assert.equal(rewrite.isUnchangedIn('a = 1\nb = 9\nc = 3\n'), false);
});

test('a single hunk can be accepted, and undoing that offers the hunk again', () => {
  const rewrite = new Rewrite(TEXT, { start: 0, end: TEXT.length }, '\n');
  rewrite.storeResult(result('a = 10\nb = 2\nc = 30\n'));
  const [first, second] = rewrite.hunks(TEXT);
  assert.ok(first && second);
  assert.equal(rewrite.textOf(second), 'c = 30\n');
  rewrite.span = rewrite.recordAccepted(first, TEXT);
  const text = 'a = 10\nb = 2\nc = 3\n';
  assert.equal(rewrite.isUnchangedIn(text), true);
  assert.deepEqual(
    rewrite.hunks(text).map((each) => rewrite.textOf(each)),
    ['c = 30\n'],
  );
  rewrite.follow([{ offset: 0, length: 6, text: 'a = 1' }]);
  assert.equal(rewrite.hunks(TEXT).length, 2);
});

test('a rejected hunk is no longer proposed until it is restored', () => {
  const rewrite = new Rewrite(TEXT, { start: 0, end: TEXT.length }, '\n');
  rewrite.storeResult(result('a = 10\nb = 2\nc = 30\n'));
  const [first] = rewrite.hunks(TEXT);
  assert.ok(first);
  rewrite.reject(first, TEXT);
  assert.equal(rewrite.proposal(TEXT), 'a = 1\nb = 2\nc = 30\n');
  assert.equal(rewrite.hasRejected, true);
  rewrite.restore();
  assert.equal(rewrite.hunks(TEXT).length, 2);
});

test('text that the user has changed has no hunks', () => {
  const rewrite = new Rewrite(TEXT, { start: 0, end: TEXT.length }, '\n');
  rewrite.storeResult(result('a = 10\n'));
  assert.deepEqual(rewrite.hunks(TEXT.replace('2', '9')), []);
});
