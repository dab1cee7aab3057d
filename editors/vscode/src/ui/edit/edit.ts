import * as vscode from 'vscode';

import type { Hunk } from '../text/hunks';
import { lineEndingOf } from '../text/spans';
import type { Span } from '../text/tracked';
import { Rewrite } from './rewrite';

/** A change of an edit, with its position in the document and in the proposed text. */
export interface PlacedHunk {
  piece: Rewrite;
  hunk: Hunk;
  old: Span;
  new: Span;
}

/** A rewrite of one or several pieces of a document. */
export class Edit {
  readonly document: vscode.TextDocument;
  /** The pieces in the order of the document. They do not overlap. */
  readonly pieces: readonly Rewrite[];
  readonly instruction: string;
  /** The URI of the proposed text, which is the right side of the diff. */
  readonly proposed: vscode.Uri;
  /** Ends the turns. Absent if the turns have ended. */
  stop: vscode.CancellationTokenSource | undefined = new vscode.CancellationTokenSource();
  /** Resolves when the diff has opened. */
  shown: Promise<void> | undefined;

  constructor(
    document: vscode.TextDocument,
    targets: readonly vscode.Range[],
    instruction: string,
    proposed: vscode.Uri,
  ) {
    const text = document.getText();
    this.document = document;
    this.instruction = instruction;
    this.proposed = proposed;
    this.pieces = targets.map(({ start, end }) => {
      const span = { start: document.offsetAt(start), end: document.offsetAt(end) };
      return new Rewrite(text, span, lineEndingOf(document));
    });
  }

  get isFinished(): boolean {
    return this.pieces.every(({ replacement }) => replacement !== undefined);
  }

  /** Whether the user has not changed the pieces, except by accepting hunks. */
  get isUnchanged(): boolean {
    const text = this.document.getText();
    return this.pieces.every((piece) => piece.isUnchangedIn(text));
  }

  /** The offset of the first piece in the document. */
  get start(): number {
    return this.pieces[0]?.span.start ?? 0;
  }

  /** The part of the proposed text from the start of the first piece to the end of the last piece. */
  get proposedSpan(): Span {
    const growth = this.proposal.length - this.document.getText().length;
    return { start: this.start, end: (this.pieces.at(-1)?.span.end ?? 0) + growth };
  }

  /** The document's text with the pieces as rewritten so far. */
  get proposal(): string {
    return this.pieces.reduceRight((text, piece) => piece.proposal(text), this.document.getText());
  }

  /** The changes that are neither accepted nor rejected, in order. */
  get hunks(): PlacedHunk[] {
    const text = this.document.getText();
    let shift = 0;
    return this.pieces.flatMap((piece) => {
      const { start, end } = piece.span;
      const newStart = start + shift;
      shift += (piece.replacement ?? '').length - (end - start);
      return piece.hunks(text).map((hunk) => ({
        piece,
        hunk,
        old: { start: start + hunk.old.start, end: start + hunk.old.end },
        new: { start: newStart + hunk.new.start, end: newStart + hunk.new.end },
      }));
    });
  }

  /** Record that the turns have ended. */
  markTurnsEnded(): void {
    this.stop?.dispose();
    this.stop = undefined;
  }
}
