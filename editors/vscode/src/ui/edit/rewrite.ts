import type { EditResult } from '../../daemon/protocol';
import { computeHunks, type Hunk } from '../text/hunks';
import { buildPreview, splice, convertLineEndings, type LineEnding } from '../text/preview';
import { shiftBy, type Change, type Span } from '../text/tracked';

/** A rewrite of a piece of a document: its current position, the text that was sent, and the new text. */
export class Rewrite {
  readonly sent: string;
  readonly lineEnding: LineEnding;
  span: Span;
  /** The sent text, and the text of the piece after each accepted hunk. Any other text is a change by the user. */
  readonly #expected: Set<string>;
  #answer = '';
  #result: string | undefined;
  #replacement: string | undefined;
  /** The hunks that were computed last. They are requested often, and are costly for long texts. */
  #computed: { old: string; text: string; hunks: Hunk[] } | undefined;

  /** @param text the document's text, which contains the span */
  constructor(text: string, span: Span, lineEnding: LineEnding) {
    this.sent = text.slice(span.start, span.end);
    this.span = span;
    this.lineEnding = lineEnding;
    this.#expected = new Set([this.sent]);
  }

  /** Update the position after changes of the document. Text inserted at an edge of the piece is left outside. */
  follow(changes: readonly Change[]): void {
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
  storeResult(result: EditResult): boolean {
    this.#result =
      result.replacement === undefined ? undefined : convertLineEndings(result.replacement, this.lineEnding);
    this.#replacement = this.#result;
    return this.#replacement !== undefined;
  }

  /** The new text of the piece without the rejected hunks; undefined while the model writes. */
  get replacement(): string | undefined {
    return this.#replacement;
  }

  /** Whether hunks were rejected. */
  get hasRejected(): boolean {
    return this.#replacement !== this.#result;
  }

  /** Offer the rejected hunks again. */
  restore(): void {
    this.#replacement = this.#result;
  }

  /** Whether the user has not changed the piece, except by accepting hunks. */
  isUnchangedIn(text: string): boolean {
    return this.#expected.has(text.slice(this.span.start, this.span.end));
  }

  /** Return the changes that are neither accepted nor rejected. Offsets are relative to the piece. */
  hunks(text: string): Hunk[] {
    if (this.#replacement === undefined || !this.isUnchangedIn(text)) {
      return [];
    }
    const old = text.slice(this.span.start, this.span.end);
    if (this.#computed?.old !== old || this.#computed.text !== this.#replacement) {
      this.#computed = {
        old,
        text: this.#replacement,
        hunks: computeHunks(old, this.#replacement),
      };
    }
    return this.#computed.hunks;
  }

  /** Return the new text of a hunk. */
  textOf(hunk: Hunk): string {
    return (this.#replacement ?? '').slice(hunk.new.start, hunk.new.end);
  }

  /**
   * Record that the user accepts a hunk, before the hunk is applied to the document: `isUnchangedIn` then also returns
   * true for the piece with this hunk. Returns the position of the piece after the hunk is applied.
   *
   * @param text the document's text before the change
   */
  recordAccepted(hunk: Hunk, text: string): Span {
    const { start, end } = this.span;
    const after = splice(text.slice(start, end), hunk.old, this.textOf(hunk));
    this.#expected.add(after);
    return { start, end: start + after.length };
  }

  /** Replace a hunk in the new text with the old text. */
  reject(hunk: Hunk, text: string): void {
    const old = text.slice(this.span.start + hunk.old.start, this.span.start + hunk.old.end);
    this.#replacement = splice(this.#replacement ?? '', hunk.new, old);
  }

  /** Return the document's text with the piece as rewritten so far. */
  proposal(text: string): string {
    const old = text.slice(this.span.start, this.span.end);
    const written =
      this.#replacement ??
      convertLineEndings(buildPreview(convertLineEndings(old, '\n'), this.#answer), this.lineEnding);
    return splice(text, this.span, written);
  }
}
