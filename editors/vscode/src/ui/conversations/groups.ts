import type { ConversationRow } from '../../daemon/protocol';

/** A heading of the list of conversations. */
export interface Group {
  label: string;
  rows: ConversationRow[];
}

const DAY = 86_400_000;

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}

/** The heading for a time, in the person's own time zone. */
export function dateHeading(time: string, now: Date): string {
  const at = new Date(time);
  // Rounded, because a day with a change of the clock has 23 or 25 hours.
  const days = Math.round((startOfDay(now) - startOfDay(at)) / DAY);
  if (days <= 0) {
    return 'Today';
  }
  if (days === 1) {
    return 'Yesterday';
  }
  if (days < 7) {
    return 'Last 7 Days';
  }
  if (days < 30) {
    return 'Last 30 Days';
  }
  return at.toLocaleDateString('en', { month: 'long', year: 'numeric' });
}

/**
 * The conversations under their headings: those of the workspace first, then all others by date. Rows come with the last
 * changed first, and stay so. A row may be in both lists, or twice in one: it is shown once.
 */
export function grouped(
  workspace: readonly ConversationRow[],
  all: readonly ConversationRow[],
  workspaceName: string,
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
    add(workspaceName, row);
  });
  for (const row of all) {
    // A later page of the workspace's own list has it.
    if (!(row.cwd !== undefined && here.has(row.cwd))) {
      add(dateHeading(row.updatedAt, now), row);
    }
  }
  return [...groups.values()];
}

/** Whether two lists of groups have the same rows in the same places. */
export function samePlaces(before: readonly Group[], after: readonly Group[]): boolean {
  const places = (groups: readonly Group[]): string =>
    JSON.stringify(groups.map(({ label, rows }) => [label, rows.map(({ id }) => id)]));
  return places(before) === places(after);
}
