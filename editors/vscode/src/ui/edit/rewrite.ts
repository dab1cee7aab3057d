import type { EditResult } from '../../daemon/protocol';
import { buildPreview, splice, convertLineEnds, type LineEnd } from '../text/preview';
import { shiftBy, type Change, type Span } from '../text/tracked';

/** A rewrite of a piece of a document: its current position, the text that was sent, and the new text. */
export class Rewrite {
  readonly sent: string;
  readonly lineEnd: LineEnd;
  span: Span;
  #answer = '';
  #replacement: string | undefined;

  /** @param text the document's text, which contains the span */
  constructor(text: string, span: Span, lineEnd: LineEnd) {
    this.sent = text.slice(span.start, span.end);
    this.span = span;
    this.lineEnd = lineEnd;
  }

  /** Update the position after changes of the document. */
  applyChanges(changes: readonly Change[]): void {
    this.span = shiftBy(this.span, changes);
  }

  /** Add text that the model wrote. */
  add(text: string): void {
    this.#answer += text;
  }

  /** Discard the text because the provider starts its answer again. */
  clear(): void {
    this.#answer = '';
  }

  /** Store the result of a successful turn. Returns whether there is anything to apply. */
  finish(result: EditResult): boolean {
    this.#replacement =
      result.replacement === undefined ? undefined : convertLineEnds(result.replacement, this.lineEnd);
    return this.#replacement !== undefined;
  }

  /** The new text of the piece; undefined while the model writes. */
  get replacement(): string | undefined {
    return this.#replacement;
  }

  /** Whether the piece still has the text that was sent. */
  isUnchangedIn(text: string): boolean {
    return text.slice(this.span.start, this.span.end) === this.sent;
  }

  /** Return the document's text with the piece as rewritten so far. */
  proposal(text: string): string {
    const old = text.slice(this.span.start, this.span.end);
    const written =
      this.#replacement ??
      convertLineEnds(buildPreview(convertLineEnds(old, '\n'), this.#answer), this.lineEnd);
    return splice(text, this.span, written);
  }
}
