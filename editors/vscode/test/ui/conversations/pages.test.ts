import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ConversationRow } from '../../../src/daemon/protocol';
import { Pages } from '../../../src/ui/conversations/pages';

function row(id: string, minute: number): ConversationRow {
  const time = `2026-03-10T10:${String(minute).padStart(2, '0')}:00Z`;
  return { id, title: id, createdAt: time, updatedAt: time, turns: 1 };
}

/** A list of two pages; `asked` has the params of each request. */
function twoPages(): { pages: Pages; asked: object[] } {
  const asked: object[] = [];
  const pages = new Pages(
    (params) => {
      asked.push(params);
      return Promise.resolve(
        params.cursor === undefined
          ? { conversations: [row('c', 3), row('b', 2)], nextCursor: 'next' }
          : { conversations: [row('b', 4), row('a', 1)] },
      );
    },
    { cwd: '/shop' },
  );
  return { pages, asked };
}

test('a row that is repeated on the next page is shown once, at its new place', async () => {
  const { pages } = twoPages();
  await pages.readMore();
  assert.equal(pages.hasMore, true);
  await pages.readMore();
  assert.deepEqual(
    pages.rows.map(({ id }) => id),
    ['b', 'c', 'a'],
  );
  assert.equal(pages.hasMore, false);
});

test('a list that is read again has as many rows as before', async () => {
  const { pages, asked } = twoPages();
  await pages.reread();
  assert.equal(pages.rows.length, 2);
  await pages.readMore();
  asked.length = 0;
  await pages.reread();
  assert.equal(pages.rows.length, 3);
  assert.deepEqual(asked, [
    { cwd: '/shop', limit: 50 },
    { cwd: '/shop', limit: 50, cursor: 'next' },
  ]);
});

test('a list that cannot be read again keeps its rows', async () => {
  let fails = false;
  const pages = new Pages(
    () => (fails ? Promise.reject(new Error('gone')) : Promise.resolve({ conversations: [row('a', 1)] })),
    {},
  );
  await pages.reread();
  fails = true;
  await assert.rejects(pages.reread());
  assert.equal(pages.rows.length, 1);
});
