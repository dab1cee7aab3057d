import * as vscode from 'vscode';

import type { FileDiff } from '../../daemon/protocol';

/** The scheme of documents with the text of a file either before or after a call. */
const SCHEME = 'jumpseat-call';

type Side = 'before' | 'after';

/** Shows the changes that calls propose, in VS Code's diff editor. */
export class DiffDocuments implements vscode.TextDocumentContentProvider {
  /** The changes of the calls whose diff was shown, by the key of the call. */
  readonly #changes = new Map<string, readonly FileDiff[]>();

  register(): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent({ query }: vscode.Uri): string {
    const { key, index, side } = JSON.parse(query) as { key: string; index: number; side: Side };
    const change = this.#changes.get(key)?.[index];
    return (side === 'before' ? change?.oldText : change?.newText) ?? '';
  }

  async show(key: string, title: string, changes: readonly FileDiff[]): Promise<void> {
    this.#changes.set(key, changes);
    const files = changes.map(({ uri }, index) => {
      const { path } = vscode.Uri.parse(uri);
      // The path determines the language.
      const toUri = (side: Side): vscode.Uri =>
        vscode.Uri.from({ scheme: SCHEME, path, query: JSON.stringify({ key, index, side }) });
      return { file: vscode.Uri.parse(uri), before: toUri('before'), after: toUri('after') };
    });
    const [only, ...others] = files;
    if (only && others.length === 0) {
      await vscode.commands.executeCommand('vscode.diff', only.before, only.after, title, { preview: false });
    } else {
      const rows = files.map(({ file, before, after }) => [file, before, after]);
      await vscode.commands.executeCommand('vscode.changes', title, rows);
    }
  }

  /** Return the key of the call whose diff is in the active editor. */
  findActive(): string | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    return tab && keyOf(tab);
  }

  /** Close the diff of a call. */
  async close(key: string): Promise<void> {
    this.#changes.delete(key);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const shown = tabs.filter((tab) => keyOf(tab) === key);
    if (shown.length > 0) {
      await vscode.window.tabGroups.close(shown);
    }
  }
}

/** Return the key of the call whose diff is in a tab. Tabs with the diffs of several files are not recognized. */
function keyOf({ input }: vscode.Tab): string | undefined {
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME
    ? (JSON.parse(input.modified.query) as { key: string }).key
    : undefined;
}
