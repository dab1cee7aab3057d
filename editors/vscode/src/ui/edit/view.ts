import * as vscode from 'vscode';

import { showWarning } from '../common/messages';
import type { Action } from '../common/problems';
import type { Edit } from './edit';

/** The scheme of documents with the rewritten text, which a diff compares with the current text. */
export const SCHEME = 'jumpseat-edit';

export function proposedUri(document: vscode.TextDocument, count: number): vscode.Uri {
  // The path determines the language; the query makes the URI unique for each edit.
  return vscode.Uri.from({ scheme: SCHEME, path: document.uri.path || '/', query: String(count) });
}

/** Return the selections in the order of the document. An empty selection counts as the line of its cursor. */
export function findTargets({ document, selections }: vscode.TextEditor): vscode.Range[] {
  const ranges = selections
    .map((each): vscode.Range => (each.isEmpty ? document.lineAt(each.active.line).range : each))
    .toSorted((a, b) => a.start.compareTo(b.start));
  const targets: vscode.Range[] = [];
  for (const range of ranges) {
    const last = targets.at(-1);
    // Merge ranges that overlap: the line of a cursor may contain another cursor or a part of a selection.
    if (last?.intersection(range) && !last.end.isEqual(range.start)) {
      targets.splice(-1, 1, last.union(range));
    } else {
      targets.push(range);
    }
  }
  return targets;
}

export function describeTargets(targets: readonly vscode.Range[]): string {
  const [only] = targets;
  if (!only || targets.length > 1) {
    return vscode.l10n.t('{0} places', targets.length);
  }
  const { start, end } = only;
  const first = start.line + 1;
  const last = end.line + (end.character === 0 && end.line > start.line ? 0 : 1);
  return first === last ? vscode.l10n.t('line {0}', first) : vscode.l10n.t('lines {0}–{1}', first, last);
}

/** Return the code lenses for an edit, which are shown above its first line and above each change. */
export function createLenses(edit: Edit): vscode.CodeLens[] {
  const { document } = edit;
  const lens = (offset: number, title: string, id: string, ...more: number[]): vscode.CodeLens => {
    const { line } = document.positionAt(offset);
    const command = { title, command: id, arguments: [document.uri, ...more] };
    return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), command);
  };
  const { start } = edit;
  if (edit.stop) {
    return [
      lens(start, `$(sync~spin) ${vscode.l10n.t('jumpseat is writing')}`, 'jumpseat.showEdit'),
      lens(start, vscode.l10n.t('Stop'), 'jumpseat.rejectEdit'),
    ];
  }
  const { hunks } = edit;
  const isDivided = hunks.length > 1;
  return [
    lens(
      start,
      `$(check-all) ${isDivided ? vscode.l10n.t('Accept All') : vscode.l10n.t('Accept')}`,
      'jumpseat.acceptEdit',
    ),
    lens(start, isDivided ? vscode.l10n.t('Reject All') : vscode.l10n.t('Reject'), 'jumpseat.rejectEdit'),
    lens(start, vscode.l10n.t('Again'), 'jumpseat.editAgain'),
    lens(start, vscode.l10n.t('Show Edit'), 'jumpseat.showEdit'),
    ...(isDivided ? hunks : []).flatMap(({ old }, index) => [
      lens(
        old.start,
        `$(check) ${vscode.l10n.t('Accept Change {0} of {1}', index + 1, hunks.length)}`,
        'jumpseat.acceptChange',
        index,
      ),
      lens(old.start, vscode.l10n.t('Reject Change'), 'jumpseat.rejectChange', index),
    ]),
  ];
}

/**
 * Return the buttons of a message about a finished edit. They name the edit by the URI of its proposed text, because
 * the message may outlive the edit, and the document may then have another edit.
 */
export function createActions(proposed: vscode.Uri): Action[] {
  return [
    { title: vscode.l10n.t('Accept'), command: 'jumpseat.acceptEdit', arguments: [proposed] },
    { title: vscode.l10n.t('Reject'), command: 'jumpseat.rejectEdit', arguments: [proposed] },
    { title: vscode.l10n.t('Show Edit'), command: 'jumpseat.showEdit', arguments: [proposed] },
  ];
}

/** Explain why there is nothing to accept or to rewrite again. */
export function warnUnfinished(edit: object | undefined): void {
  showWarning(
    edit
      ? vscode.l10n.t('The edit is still being written; "Reject or Stop Edit" stops it.')
      : vscode.l10n.t('There is no edit to review in this file.'),
  );
}

/**
 * Show the diff between the current document and the rewritten one. The diff opens beside the active editor. That
 * editor keeps the keyboard focus unless `focus` is set.
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
    vscode.l10n.t('{0}: rewritten', nameOf(document)),
    options,
  );
}

/** Show the document on the right side of the diff, where the user can edit it and copy changes from the left. */
export async function offerProposal(document: vscode.TextDocument, proposed: vscode.Uri): Promise<void> {
  const oldTab = findTab(proposed, 'modified');
  const title = vscode.l10n.t('{0}: new text ↔ your text', nameOf(document));
  await vscode.commands.executeCommand('vscode.diff', proposed, document.uri, title, { preview: false });
  if (oldTab) {
    await vscode.window.tabGroups.close(oldTab);
  }
}

/** Return the tab of a diff that shows the rewritten text on the given side, or by default on either side. */
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
export async function askForInstruction(title: string, value = ''): Promise<string | undefined> {
  const text = await vscode.window.showInputBox({
    title,
    prompt: vscode.l10n.t('Rewrite how? /NAME uses a prompt.'),
    value,
  });
  return text?.trim() === '' ? undefined : text;
}
