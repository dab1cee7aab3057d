import { env, l10n } from 'vscode';

import type { ConversationRow } from '../../daemon/protocol';

/** A heading in the list of conversations, with its rows. */
export interface Group {
  label: string;
  rows: ConversationRow[];
}

const DAY = 86_400_000;

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}

/** Return the heading for a time. Days begin and end in the user's time zone. */
export function formatDateHeading(time: string, now: Date): string {
  const at = new Date(time);
  // Round, because a day on which the clocks change has 23 or 25 hours.
  const days = Math.round((startOfDay(now) - startOfDay(at)) / DAY);
  if (days <= 0) {
    return l10n.t('Today');
  }
  if (days === 1) {
    return l10n.t('Yesterday');
  }
  if (days < 7) {
    return l10n.t('Last 7 Days');
  }
  if (days < 30) {
    return l10n.t('Last 30 Days');
  }
  return at.toLocaleDateString(env.language, { month: 'long', year: 'numeric' });
}

/**
 * Group conversations under headings: first those of the workspace, then all others by date. The rows arrive most
 * recently changed first and stay in that order. A row that is in both lists, or twice in one, is shown once.
 */
export function groupConversations(
  workspace: readonly ConversationRow[],
  all: readonly ConversationRow[],
  workspaceHeading: string,
  now: Date,
): Group[] {
  const groups = new Map<string, Group>();
  const seen = new Set<string>();
  const here = new Set(workspace.map((row) => row.cwd));
  const add = (label: string, row: ConversationRow): void => {
    if (seen.has(row.id)) {
      return;
    }
    seen.add(row.id);
    const group = groups.get(label) ?? { label, rows: [] };
    groups.set(label, group);
    group.rows.push(row);
  };
  workspace.forEach((row) => {
    add(workspaceHeading, row);
  });
  for (const row of all) {
    // Skip a row of the workspace: the workspace's own list contains it, perhaps on a later page.
    if (!(row.cwd !== undefined && here.has(row.cwd))) {
      add(formatDateHeading(row.updatedAt, now), row);
    }
  }
  return [...groups.values()];
}

/** Whether two lists of groups have the same rows in the same places. */
export function haveSamePlaces(before: readonly Group[], after: readonly Group[]): boolean {
  const places = (groups: readonly Group[]): string =>
    JSON.stringify(groups.map(({ label, rows }) => [label, rows.map(({ id }) => id)]));
  return places(before) === places(after);
}
