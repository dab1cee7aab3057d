import * as vscode from 'vscode';

/** Show a document in the editor group in which it is open, or else in the active group. */
export function showDocument(
  document: vscode.TextDocument,
  options: vscode.TextDocumentShowOptions = {},
): Thenable<vscode.TextEditor> {
  const key = document.uri.toString();
  const group = vscode.window.tabGroups.all.find(({ tabs }) =>
    tabs.some(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === key),
  );
  return vscode.window.showTextDocument(document, {
    ...options,
    ...(group && { viewColumn: group.viewColumn }),
  });
}
