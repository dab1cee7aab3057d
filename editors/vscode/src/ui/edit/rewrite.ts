import type { EditResult } from '../../daemon/protocol';
import { previewOf, spliced, withLineEnds, type LineEnd } from '../text/preview';
import { shiftedBy, type Change, type Span } from '../text/tracked';

/** A piece of a document that is rewritten: where it is now, what was sent, and what it shall become. */
export class Rewrite {
  readonly sent: string;
  readonly lineEnd: LineEnd;
  span: Span;
  #answer = '';
  #replacement: string | undefined;

  /** `text` is that of the document in which the span is. */
  constructor(text: string, span: Span, lineEnd: LineEnd) {
    this.sent = text.slice(span.start, span.end);
    this.span = span;
    this.lineEnd = lineEnd;
  }

  /** The document was changed. */
  changed(changes: readonly Change[]): void {
    this.span = shiftedBy(this.span, changes);
  }

  /** The model wrote more. */
  add(text: string): void {
    this.#answer += text;
  }

  /** The provider began again. */
  clear(): void {
    this.#answer = '';
  }

  /** The turn has succeeded. Answers whether there is something to apply. */
  finish(result: EditResult): boolean {
    this.#replacement =
      result.replacement === undefined ? undefined : withLineEnds(result.replacement, this.lineEnd);
    return this.#replacement !== undefined;
  }

  /** What the piece becomes; undefined while the model writes. */
  get replacement(): string | undefined {
    return this.#replacement;
  }

  /** Whether the piece still is what was sent. */
  isUnchangedIn(text: string): boolean {
    return text.slice(this.span.start, this.span.end) === this.sent;
  }

  /** The document with the rewritten piece, as far as it has come. */
  proposal(text: string): string {
    const old = text.slice(this.span.start, this.span.end);
    const written =
      this.#replacement ?? withLineEnds(previewOf(withLineEnds(old, '\n'), this.#answer), this.lineEnd);
    return spliced(text, this.span, written);
  }
}
