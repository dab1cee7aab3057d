/** The number of unchanged lines that a diff shows around the change. */
const CONTEXT_LINES = 2;

export interface Diff {
  /** Lines that begin with a space, `-` or `+`. */
  lines: string[];
  /** The number of lines that were left out. */
  omitted: number;
}

/** Compute the diff of two texts as one change with its surroundings. Without `old`, all lines are new. */
export function computeDiff(old: string | undefined, text: string, mostLines: number): Diff {
  const before = splitLines(old ?? '');
  const after = splitLines(text);
  const shared = Math.min(before.length, after.length);
  let start = 0;
  while (start < shared && before[start] === after[start]) {
    start += 1;
  }
  let end = 0;
  while (end < shared - start && before.at(-1 - end) === after.at(-1 - end)) {
    end += 1;
  }
  const lines = [
    ...before.slice(Math.max(0, start - CONTEXT_LINES), start).map((line) => ` ${line}`),
    ...before.slice(start, before.length - end).map((line) => `-${line}`),
    ...after.slice(start, after.length - end).map((line) => `+${line}`),
    ...after
      .slice(after.length - end)
      .slice(0, CONTEXT_LINES)
      .map((line) => ` ${line}`),
  ];
  return { lines: lines.slice(0, mostLines), omitted: Math.max(0, lines.length - mostLines) };
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
