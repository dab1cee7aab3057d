import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ConversationRow } from '../../../src/daemon/protocol';
import {
  formatDateHeading,
  groupConversations,
  haveSamePlaces,
  type Group,
} from '../../../src/ui/conversations/groups';

const NOW = new Date(2026, 2, 20, 0, 30);

function row(id: string, updatedAt: Date, cwd = '/elsewhere'): ConversationRow {
  const time = updatedAt.toISOString();
  return { id, title: id, createdAt: time, updatedAt: time, turns: 1, cwd };
}

test('the headings count days from midnight to midnight', () => {
  const headings = [
    new Date(2026, 2, 20, 0, 10),
    new Date(2026, 2, 19, 23, 50),
    new Date(2026, 2, 14, 1),
    new Date(2026, 2, 13, 23),
    new Date(2026, 1, 18, 12),
    new Date(2025, 11, 24, 12),
  ].map((time) => formatDateHeading(time.toISOString(), NOW));
  assert.deepEqual(headings, [
    'Today',
    'Yesterday',
    'Last 7 Days',
    'Last 30 Days',
    'February 2026',
    'December 2025',
  ]);
});

test('the workspace comes first, then all others by date', () => {
  const here = row('here', new Date(2026, 1, 1), '/shop');
  const all = [row('new', NOW), row('older', new Date(2026, 2, 19, 12)), here];
  const groups = groupConversations([here], all, 'This Workspace: shop', NOW);
  assert.deepEqual(
    groups.map(({ label, rows }) => [label, rows.map(({ id }) => id)]),
    [
      ['This Workspace: shop', ['here']],
      ['Today', ['new']],
      ['Yesterday', ['older']],
    ],
  );
});

test("rows on the next page of the workspace's list are not shown among the others", () => {
  const groups = groupConversations([row('a', NOW, '/shop')], [row('b', NOW, '/shop')], 'Here', NOW);
  assert.deepEqual(
    groups.map(({ label, rows }) => [label, rows.length]),
    [['Here', 1]],
  );
});

test('a row that comes twice is shown once', () => {
  const twice = [row('a', NOW), row('a', NOW)];
  assert.deepEqual(groupConversations([], twice, 'Here', NOW)[0]?.rows.length, 1);
});

test('rows have the same places unless one is added, removed or moved', () => {
  const groups = (...ids: string[]): Group[] => [{ label: 'Today', rows: ids.map((id) => row(id, NOW)) }];
  const changed = [{ label: 'Today', rows: [{ ...row('a', NOW), turns: 2 }, row('b', NOW)] }];
  assert.ok(haveSamePlaces(groups('a', 'b'), changed));
  assert.ok(!haveSamePlaces(groups('a', 'b'), groups('b', 'a')));
  assert.ok(!haveSamePlaces(groups('a', 'b'), groups('a', 'b', 'c')));
  assert.ok(!haveSamePlaces(groups('a'), [{ label: 'Yesterday', rows: [row('a', NOW)] }]));
});
