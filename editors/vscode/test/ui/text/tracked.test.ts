import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shift, shiftBy, type Change, type Span } from '../../../src/ui/text/tracked';

/** Apply the change `{old|new}` in a text with the span `[…]`. Returns the new text with the shifted span. */
function after(marked: string): string {
  const plain = marked.replace(/\{(.*?)\|.*?\}/, '$1');
  const old = plain.replaceAll(/[[\]]/g, '');
  const span: Span = { start: plain.indexOf('['), end: plain.indexOf(']') - 1 };
  const [, before, removed, text] = /^(.*?)\{(.*?)\|(.*?)\}/.exec(marked) ?? [];
  const change: Change = {
    offset: before?.replaceAll(/[[\]]/g, '').length ?? 0,
    length: removed?.replaceAll(/[[\]]/g, '').length ?? 0,
    text: text ?? '',
  };
  const now = old.slice(0, change.offset) + change.text + old.slice(change.offset + change.length);
  const { start, end } = shift(span, change);
  return `${now.slice(0, start)}[${now.slice(start, end)}]${now.slice(end)}`;
}

test('a change before the span moves it', () => {
  assert.equal(after('a{|xx}b[cd]e'), 'axxb[cd]e');
  assert.equal(after('{ab|}[cd]e'), '[cd]e');
});

test('a change after the span does not move it', () => {
  assert.equal(after('ab[cd]e{|x}'), 'ab[cd]ex');
});

test('what is typed at an edge is not part of the span', () => {
  assert.equal(after('ab{|x}[cd]e'), 'abx[cd]e');
  assert.equal(after('ab[cd]{|x}e'), 'ab[cd]xe');
});

test('a change within the span is part of it', () => {
  assert.equal(after('a[b{c|xyz}d]e'), 'a[bxyzd]e');
  assert.equal(after('a[{bcd|}]e'), 'a[]e');
});

test('after a change across an edge, the rest of the span remains', () => {
  assert.equal(after('a{b[c|x}d]e'), 'ax[d]e');
  assert.equal(after('a[b{c]d|x}e'), 'a[b]xe');
});

test('a change that covers the whole span leaves an empty span', () => {
  const { start, end } = shift({ start: 2, end: 4 }, { offset: 1, length: 4, text: 'xyz' });
  assert.equal(end - start, 0);
});

test('the offsets of several changes refer to the text before all of them', () => {
  const changes = [
    { offset: 0, length: 0, text: 'xx' },
    { offset: 3, length: 1, text: '' },
  ];
  assert.deepEqual(shiftBy({ start: 5, end: 7 }, changes), { start: 6, end: 8 });
  assert.deepEqual(shiftBy({ start: 5, end: 7 }, changes.toReversed()), { start: 6, end: 8 });
});
