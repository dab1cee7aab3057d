import { diffArrays } from 'diff';

import type { Span } from './tracked';

/** One change between two texts, in whole lines. Either span may be empty. */
export interface Hunk {
  old: Span;
  new: Span;
}

/** Beyond this number of changed lines, the whole text is one change, because the search takes quadratic time. */
const MOST_CHANGED_LINES = 1000;

/** Compute the changes that turn one text into another, in order. */
export function computeHunks(old: string, text: string): Hunk[] {
  const parts = diffArrays(splitLines(old), splitLines(text), { maxEditLength: MOST_CHANGED_LINES });
  if (!parts) {
    return [{ old: { start: 0, end: old.length }, new: { start: 0, end: text.length } }];
  }
  const hunks: Hunk[] = [];
  let [oldEnd, newEnd] = [0, 0];
  let isOpen = false;
  for (const { added, removed, value } of parts) {
    const length = value.join('').length;
    const start = { old: oldEnd, new: newEnd };
    oldEnd += added ? 0 : length;
    newEnd += removed ? 0 : length;
    const last = isOpen ? hunks.at(-1) : undefined;
    isOpen = added || removed;
    if (last && isOpen) {
      // A replacement consists of two parts.
      last.old.end = oldEnd;
      last.new.end = newEnd;
    } else if (isOpen) {
      hunks.push({ old: { start: start.old, end: oldEnd }, new: { start: start.new, end: newEnd } });
    }
  }
  return hunks;
}

/** Split a text into lines with their line endings. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}
