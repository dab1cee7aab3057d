import type { Span } from './tracked';

export type LineEnding = '\n' | '\r\n';

/** Convert a text to the line endings of its document, so that the editor does not get mixed ones. */
export function convertLineEndings(text: string, lineEnding: LineEnding): string {
  return text.replaceAll(/\r\n|\r|\n/g, lineEnding);
}

/** Remove a fence around the text written so far. Only the preview needs this: the daemon removes it from the result. */
function removeFence(answer: string): string {
  return answer.replace(/^\s*(```|~~~)[^\n]*\n/, '').replace(/\n(```|~~~)\s*$/, '\n');
}

/**
 * Return the text for an unfinished answer: its complete lines, then the old lines that it has not reached, so that
 * these do not look deleted.
 */
export function buildPreview(old: string, answer: string): string {
  const written = removeFence(answer).split('\n').slice(0, -1);
  const rest = old.split('\n').slice(written.length);
  return [...written.map((line) => `${line}\n`), rest.join('\n')].join('');
}

/** Replace the contents of a span of a text. */
export function splice(text: string, span: Span, replacement: string): string {
  return text.slice(0, span.start) + replacement + text.slice(span.end);
}
