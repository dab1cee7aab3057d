import * as vscode from 'vscode';

import type { LineEnd } from './preview';
import type { Change, Span } from './tracked';

/** Convert the changes of an event to offsets. */
export function changesOf({ contentChanges }: vscode.TextDocumentChangeEvent): Change[] {
  return contentChanges.map(({ rangeOffset, rangeLength, text }) => ({
    offset: rangeOffset,
    length: rangeLength,
    text,
  }));
}

export function lineEndOf(document: vscode.TextDocument): LineEnd {
  return document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
}

export function rangeOfSpan(document: vscode.TextDocument, { start, end }: Span): vscode.Range {
  return new vscode.Range(document.positionAt(start), document.positionAt(end));
}
