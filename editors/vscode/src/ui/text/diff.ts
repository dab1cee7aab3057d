/** The number of unchanged lines that a diff shows around the change. */
const CONTEXT_LINES = 2;

export interface Diff {
  /** Lines that begin with a space, `-` or `+`. */
  lines: string[];
  /** The number of lines left out because the diff has more than `mostLines`. */
  omitted: number;
}

/** Compute the diff of two texts as one change with its surroundings. Without `old`, all lines are new. */
export function computeDiff(old: string | undefined, text: string, mostLines: number): Diff {
  const before = splitLines(old ?? '');
  const after = splitLines(text);
  const shorter = Math.min(before.length, after.length);
  let sameStart = 0;
  while (sameStart < shorter && before[sameStart] === after[sameStart]) {
    sameStart += 1;
  }
  let sameEnd = 0;
  while (sameEnd < shorter - sameStart && before.at(-1 - sameEnd) === after.at(-1 - sameEnd)) {
    sameEnd += 1;
  }
  const lines = [
    ...before.slice(Math.max(0, sameStart - CONTEXT_LINES), sameStart).map((line) => ` ${line}`),
    ...before.slice(sameStart, before.length - sameEnd).map((line) => `-${line}`),
    ...after.slice(sameStart, after.length - sameEnd).map((line) => `+${line}`),
    ...after
      .slice(after.length - sameEnd)
      .slice(0, CONTEXT_LINES)
      .map((line) => ` ${line}`),
  ];
  return { lines: lines.slice(0, mostLines), omitted: Math.max(0, lines.length - mostLines) };
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
