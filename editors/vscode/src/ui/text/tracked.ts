/** A change of a text: `length` units at `offset` became `text`. Units are UTF-16, as the editor counts. */
export interface Change {
  offset: number;
  length: number;
  text: string;
}

export interface Span {
  start: number;
  end: number;
}

/**
 * Where a span is after a change. What is inserted at its edges is not part of it. A change that reaches over an edge
 * leaves what is left of the span: its text differs then, which is what the caller compares.
 */
export function shifted(span: Span, change: Change): Span {
  const end = change.offset + change.length;
  const by = change.text.length - change.length;
  if (end <= span.start) {
    return { start: span.start + by, end: span.end + by };
  }
  if (change.offset >= span.end) {
    return span;
  }
  const start = change.offset < span.start ? change.offset + change.text.length : span.start;
  return { start, end: Math.max(start, end > span.end ? change.offset : span.end + by) };
}

/** Where a span is after the changes of one edit, which all have offsets of the text before it. */
export function shiftedBy(span: Span, changes: readonly Change[]): Span {
  return changes.toSorted((a, b) => b.offset - a.offset).reduce(shifted, span);
}
