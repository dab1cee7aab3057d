import * as vscode from 'vscode';

import { showWarning } from '../common/messages';
import { showDocument } from '../text/documents';
import { splice } from '../text/preview';
import { rangeOfSpan } from '../text/spans';
import type { Span } from '../text/tracked';
import type { Edit, PlacedHunk } from './edit';
import { nameOf, offerProposal, warnUnfinished } from './view';

/**
 * Change the text of an edit's document, in one undo step. Returns the document. If the user has changed the pieces of
 * the edit, or if the editor is read-only, warns and returns undefined.
 */
export async function applyChanges(
  edit: Edit,
  changes: readonly { span: Span; text: string }[],
): Promise<vscode.TextDocument | undefined> {
  const document = await vscode.workspace.openTextDocument(edit.document.uri);
  if (!edit.isUnchanged) {
    await offerProposal(document, edit.proposed);
    showWarning(
      vscode.l10n.t(
        'The text has changed since it was sent, so the edit was not applied. A diff shows the new text beside yours.',
      ),
    );
    return undefined;
  }
  const before = document.getText();
  const after = changes.reduceRight((all, { span, text }) => splice(all, span, text), before);
  // A `WorkspaceEdit` would change the document even if its editor is read-only.
  const editor = await showDocument(document, { preview: false, preserveFocus: true });
  await editor.edit((builder) => {
    for (const { span, text } of changes) {
      builder.replace(rangeOfSpan(document, span), text);
    }
  });
  if (before !== after && document.getText() === before) {
    showWarning(
      vscode.l10n.t(
        '{0} is read-only, so the edit was not applied. Make it writable, then accept the edit again.',
        nameOf(document),
      ),
    );
    return undefined;
  }
  return document;
}

/**
 * Return the given change of a finished edit, else the first change at or below the cursor, else the edit's first change.
 * Moves the cursor to the next change, so that the command can be repeated. If the edit is not finished or has no changes,
 * warns and returns undefined.
 */
export function chooseChange(edit: Edit | undefined, index: unknown): PlacedHunk | undefined {
  if (!edit?.isFinished) {
    warnUnfinished(edit);
    return undefined;
  }
  const { hunks } = edit;
  const editor = findActiveEditor(edit);
  const side = editor?.document === edit.document ? 'old' : 'new';
  const found = hunks.findIndex(
    (each) => editor && editor.document.positionAt(each[side].end).line >= editor.selection.active.line,
  );
  const chosen = typeof index === 'number' ? index : Math.max(0, found);
  const next = hunks[chosen + 1];
  if (editor && next) {
    const position = editor.document.positionAt(next[side].start);
    const range = new vscode.Range(position, position);
    editor.selection = new vscode.Selection(position, position);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
  if (!hunks[chosen]) {
    showWarning(vscode.l10n.t('The edit has no changes.'));
  }
  return hunks[chosen];
}

/** Return the active editor if it shows either the document of an edit or the proposed text. */
function findActiveEditor(edit: Edit): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  const shown = editor?.document.uri.toString();
  return shown === edit.document.uri.toString() || shown === edit.proposed.toString() ? editor : undefined;
}
