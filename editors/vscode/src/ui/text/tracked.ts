/** A change of a text: `text` replaced `length` units at `offset`. Units are UTF-16 code units, as in the editor. */
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
 * Return the position of a span after a change. Text inserted at an edge of the span is not part of the span. After a
 * change across an edge, only the untouched part remains, so a caller that compares the text sees that it differs.
 */
export function shift(span: Span, change: Change): Span {
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

/** Return the position of a span after several changes. All their offsets refer to the text before the first change. */
export function shiftBy(span: Span, changes: readonly Change[]): Span {
  return changes.toSorted((a, b) => b.offset - a.offset).reduce(shift, span);
}
