import * as vscode from 'vscode';

import { showWarning } from '../common/messages';
import type { Action } from '../common/problems';

/** The document with the rewritten piece. */
export const SCHEME = 'jumpseat-edit';

export function proposedUri(document: vscode.TextDocument, count: number): vscode.Uri {
  // The path gives the language; the query makes a new document for each edit.
  return vscode.Uri.from({ scheme: SCHEME, path: document.uri.path || '/', query: String(count) });
}

export function targetOf(editor: vscode.TextEditor): vscode.Range {
  return editor.selection.isEmpty
    ? editor.document.lineAt(editor.selection.active.line).range
    : editor.selection;
}

export function linesOf(range: vscode.Range): string {
  const first = range.start.line + 1;
  const last = range.end.line + (range.end.character === 0 && range.end.line > range.start.line ? 0 : 1);
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

/** What can be done with an edit, above the line in which it begins. */
export function lensesAt(line: number, uri: vscode.Uri, isWritten: boolean): vscode.CodeLens[] {
  const range = new vscode.Range(line, 0, line, 0);
  const lens = (title: string, id: string): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, command: id, arguments: [uri] });
  if (isWritten) {
    return [
      lens('$(sync~spin) jumpseat is writing', 'jumpseat.showEdit'),
      lens('Stop', 'jumpseat.rejectEdit'),
    ];
  }
  return [
    lens('$(check) Accept', 'jumpseat.acceptEdit'),
    lens('Reject', 'jumpseat.rejectEdit'),
    lens('Again', 'jumpseat.editAgain'),
    lens('Show Change', 'jumpseat.showEdit'),
  ];
}

/** What can be done with a finished edit, as buttons of a message, which may outlive the edit. */
export function waysOn(proposed: vscode.Uri): Action[] {
  return [
    { title: 'Accept', command: 'jumpseat.acceptEdit', arguments: [proposed] },
    { title: 'Reject', command: 'jumpseat.rejectEdit', arguments: [proposed] },
    { title: 'Show Change', command: 'jumpseat.showEdit', arguments: [proposed] },
  ];
}

/** Say why there is nothing to accept or to write again. */
export function warnUnfinished(edit: object | undefined): void {
  showWarning(
    edit
      ? 'The edit is still being written; "Reject or Stop Edit" stops it.'
      : 'There is no finished edit in this file.',
  );
}

/**
 * The diff: the document as it is, and with the rewritten piece. It opens beside the editor in which the person works,
 * which keeps the keyboard unless the diff takes the `focus`.
 */
export async function showProposal(
  document: vscode.TextDocument,
  proposed: vscode.Uri,
  start: number,
  focus = false,
): Promise<void> {
  const right = await vscode.workspace.openTextDocument(proposed);
  if (right.languageId !== document.languageId) {
    await vscode.languages.setTextDocumentLanguage(right, document.languageId);
  }
  const position = document.positionAt(start);
  const options = {
    preview: false,
    preserveFocus: !focus,
    viewColumn: tabOf(proposed)?.group.viewColumn ?? vscode.ViewColumn.Beside,
    selection: new vscode.Range(position, position),
  };
  await vscode.commands.executeCommand(
    'vscode.diff',
    document.uri,
    proposed,
    `${nameOf(document)}: rewritten`,
    options,
  );
}

/** The document on the right, where it can be written, and where each change can be taken over from the left. */
export async function offerProposal(document: vscode.TextDocument, proposed: vscode.Uri): Promise<void> {
  const before = tabOf(proposed, 'modified');
  const title = `${nameOf(document)}: new text ↔ your text`;
  await vscode.commands.executeCommand('vscode.diff', proposed, document.uri, title, { preview: false });
  if (before) {
    await vscode.window.tabGroups.close(before);
  }
}

/** The diff that has the rewritten piece on one side, or on any. */
export function tabOf(proposed: vscode.Uri, side?: 'modified'): vscode.Tab | undefined {
  const key = proposed.toString();
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.find(
    ({ input }) =>
      input instanceof vscode.TabInputTextDiff &&
      (input.modified.toString() === key || (side === undefined && input.original.toString() === key)),
  );
}

/** Close the diffs that have the rewritten piece. */
export async function closeProposal(proposed: vscode.Uri): Promise<void> {
  for (let tab = tabOf(proposed); tab; tab = tabOf(proposed)) {
    await vscode.window.tabGroups.close(tab);
  }
}

export function nameOf(document: vscode.TextDocument): string {
  return document.uri.path.split('/').at(-1) ?? document.uri.path;
}

/** The instruction of an edit. */
export async function askFor(what: string, value = ''): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({ title: `Rewrite ${what}`, prompt: 'Rewrite how?', value });
  return text?.trim() === '' ? undefined : text;
}
