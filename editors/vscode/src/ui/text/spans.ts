import * as vscode from 'vscode';

import type { Range } from '../../daemon/protocol';
import type { LineEnding } from './preview';
import type { Change, Span } from './tracked';

/** Convert the changes of an event to offsets. */
export function changesOf({ contentChanges }: vscode.TextDocumentChangeEvent): Change[] {
  return contentChanges.map(({ rangeOffset, rangeLength, text }) => ({
    offset: rangeOffset,
    length: rangeLength,
    text,
  }));
}

export function lineEndingOf(document: vscode.TextDocument): LineEnding {
  return document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
}

export function rangeOfSpan(document: vscode.TextDocument, { start, end }: Span): vscode.Range {
  return new vscode.Range(document.positionAt(start), document.positionAt(end));
}

/** Convert a range of the protocol. */
export function toRange({ start, end }: Range): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
