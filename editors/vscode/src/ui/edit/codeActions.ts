import * as vscode from 'vscode';

/** A kind of this extension, because VS Code has no kind for actions that change nothing. */
const EXPLAIN = vscode.CodeActionKind.Empty.append('jumpseat').append('explain');

/** Offers edits and explanations for selections and problems. */
export class CodeActions implements vscode.CodeActionProvider {
  static register(): vscode.Disposable {
    return vscode.languages.registerCodeActionsProvider({ scheme: '*' }, new CodeActions(), {
      providedCodeActionKinds: [
        vscode.CodeActionKind.QuickFix,
        vscode.CodeActionKind.RefactorRewrite,
        EXPLAIN,
      ],
    });
  }

  provideCodeActions(
    { uri }: vscode.TextDocument,
    range: vscode.Range,
    { diagnostics }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const actions: vscode.CodeAction[] = [];
    const add = (title: string, kind: vscode.CodeActionKind, command: string, values: unknown[]): void => {
      const action = new vscode.CodeAction(title, kind);
      action.command = { title, command, arguments: values };
      if (kind === vscode.CodeActionKind.QuickFix) {
        action.diagnostics = [...diagnostics];
      }
      actions.push(action);
    };
    if (!offersActions(uri)) {
      return actions;
    }
    const isWritable = uri.scheme === 'untitled' || vscode.workspace.fs.isWritableFileSystem(uri.scheme);
    if (diagnostics.length > 0) {
      if (isWritable) {
        add(vscode.l10n.t('Fix with jumpseat'), vscode.CodeActionKind.QuickFix, 'jumpseat.fix', [
          diagnostics,
        ]);
      }
      add(vscode.l10n.t('Explain with jumpseat'), vscode.CodeActionKind.QuickFix, 'jumpseat.explain', [
        diagnostics,
      ]);
    }
    if (!range.isEmpty) {
      if (isWritable) {
        add(vscode.l10n.t('Edit with jumpseat'), vscode.CodeActionKind.RefactorRewrite, 'jumpseat.edit', []);
      }
      if (diagnostics.length === 0) {
        add(vscode.l10n.t('Explain with jumpseat'), EXPLAIN, 'jumpseat.explain', [[]]);
      }
    }
    return actions;
  }
}

function offersActions(uri: vscode.Uri): boolean {
  return vscode.workspace.getConfiguration('jumpseat', uri).get('codeActions', true);
}
