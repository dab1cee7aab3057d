import * as vscode from 'vscode';

import type { Answers, WorkspaceEdit } from './daemon/protocol';
import { toRange } from './ui/text/spans';

/** Handlers of the daemon's requests to list the unsaved files and to change files. */
export const ANSWERS: Answers = {
  'workspace/unsaved': ({ uris }) => ({ documents: listUnsaved(uris) }),
  'workspace/applyEdit': async ({ edit }) => ({ applied: await applyEdit(edit) }),
};

function listUnsaved(uris: string[] | undefined): { uri: string; version: number; text: string }[] {
  // Compare paths, because the daemon may percent-encode other characters of a URI than VS Code does.
  const paths = uris && new Set(uris.map((each) => vscode.Uri.parse(each).fsPath));
  return vscode.workspace.textDocuments
    .filter(({ isDirty, uri }) => isDirty && uri.scheme === 'file' && (paths?.has(uri.fsPath) ?? true))
    .map((document) => ({
      uri: document.uri.toString(),
      version: document.version,
      text: document.getText(),
    }));
}

/** Apply an edit if the documents still have the versions in the edit. Returns whether the edit was applied. */
async function applyEdit({ documentChanges }: WorkspaceEdit): Promise<boolean> {
  const change = new vscode.WorkspaceEdit();
  for (const { textDocument, edits } of documentChanges) {
    const uri = vscode.Uri.parse(textDocument.uri);
    const document = await vscode.workspace.openTextDocument(uri);
    if (textDocument.version !== null && document.version !== textDocument.version) {
      return false;
    }
    for (const { range, newText } of edits) {
      change.replace(uri, toRange(range), newText);
    }
  }
  return await vscode.workspace.applyEdit(change);
}
