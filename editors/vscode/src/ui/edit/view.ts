import * as vscode from 'vscode';

import { showWarning } from '../common/messages';
import type { Action } from '../common/problems';

/** The scheme of documents that contain the rewritten piece. */
export const SCHEME = 'jumpseat-edit';

export function proposedUri(document: vscode.TextDocument, count: number): vscode.Uri {
  // The path determines the language; the query makes the URI unique for each edit.
  return vscode.Uri.from({ scheme: SCHEME, path: document.uri.path || '/', query: String(count) });
}

export function findTarget(editor: vscode.TextEditor): vscode.Range {
  return editor.selection.isEmpty
    ? editor.document.lineAt(editor.selection.active.line).range
    : editor.selection;
}

export function describeLines(range: vscode.Range): string {
  const first = range.start.line + 1;
  const last = range.end.line + (range.end.character === 0 && range.end.line > range.start.line ? 0 : 1);
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

/** Return the code lenses for an edit, which are shown above its first line. */
export function createLenses(line: number, uri: vscode.Uri, isWritten: boolean): vscode.CodeLens[] {
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

/** Return the buttons of a message about a finished edit. The message may outlive the edit. */
export function createActions(proposed: vscode.Uri): Action[] {
  return [
    { title: 'Accept', command: 'jumpseat.acceptEdit', arguments: [proposed] },
    { title: 'Reject', command: 'jumpseat.rejectEdit', arguments: [proposed] },
    { title: 'Show Change', command: 'jumpseat.showEdit', arguments: [proposed] },
  ];
}

/** Explain why there is nothing to accept or to rewrite again. */
export function warnUnfinished(edit: object | undefined): void {
  showWarning(
    edit
      ? 'The edit is still being written; "Reject or Stop Edit" stops it.'
      : 'There is no finished edit in this file.',
  );
}

/**
 * Show the diff between the current document and the rewritten one. It opens beside the editor in which the user works,
 * which keeps the keyboard focus unless `focus` is set.
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
    viewColumn: findTab(proposed)?.group.viewColumn ?? vscode.ViewColumn.Beside,
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

/** Show the document on the right side of the diff, where the user can edit it and copy changes from the left. */
export async function offerProposal(document: vscode.TextDocument, proposed: vscode.Uri): Promise<void> {
  const before = findTab(proposed, 'modified');
  const title = `${nameOf(document)}: new text ↔ your text`;
  await vscode.commands.executeCommand('vscode.diff', proposed, document.uri, title, { preview: false });
  if (before) {
    await vscode.window.tabGroups.close(before);
  }
}

/** Return the tab of the diff with the rewritten text, on the given side or on either. */
export function findTab(proposed: vscode.Uri, side?: 'modified'): vscode.Tab | undefined {
  const key = proposed.toString();
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.find(
    ({ input }) =>
      input instanceof vscode.TabInputTextDiff &&
      (input.modified.toString() === key || (side === undefined && input.original.toString() === key)),
  );
}

/** Close all diffs with the rewritten text. */
export async function closeProposal(proposed: vscode.Uri): Promise<void> {
  for (let tab = findTab(proposed); tab; tab = findTab(proposed)) {
    await vscode.window.tabGroups.close(tab);
  }
}

export function nameOf(document: vscode.TextDocument): string {
  return document.uri.path.split('/').at(-1) ?? document.uri.path;
}

/** Ask for the instruction of an edit. */
export async function askForInstruction(what: string, value = ''): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({ title: `Rewrite ${what}`, prompt: 'Rewrite how?', value });
  return text?.trim() === '' ? undefined : text;
}
