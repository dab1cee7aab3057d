import type { Span } from './tracked';

export type LineEnd = '\n' | '\r\n';

/** A text with the line ends of its document: an editor would otherwise have both. */
export function withLineEnds(text: string, lineEnd: LineEnd): string {
  return text.replaceAll(/\r\n|\r|\n/g, lineEnd);
}

/** What the model has written so far, without a fence around it. Only for the preview: the daemon knows better. */
function unfenced(answer: string): string {
  return answer.replace(/^\s*(```|~~~)[^\n]*\n/, '').replace(/\n(```|~~~)\s*$/, '\n');
}

/**
 * The text that an unfinished answer stands for: its complete lines, then the old lines that it has not reached. So the
 * lines below do not look as if they were deleted.
 */
export function previewOf(old: string, answer: string): string {
  const written = unfenced(answer).split('\n').slice(0, -1);
  const rest = old.split('\n').slice(written.length);
  return [...written.map((line) => `${line}\n`), rest.join('\n')].join('');
}

/** A text in which a span has other content. */
export function spliced(text: string, span: Span, replacement: string): string {
  return text.slice(0, span.start) + replacement + text.slice(span.end);
}
