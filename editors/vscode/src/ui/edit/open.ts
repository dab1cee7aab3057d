import * as vscode from 'vscode';

import type { Edit } from './edit';

/** The edits that are neither accepted nor rejected. A document has at most one. */
export class OpenEdits {
  readonly #edits = new Map<string, Edit>();

  [Symbol.iterator](): IterableIterator<Edit> {
    return this.#edits.values();
  }

  add(edit: Edit): void {
    this.#edits.set(edit.document.uri.toString(), edit);
  }

  delete(edit: Edit): void {
    this.#edits.delete(edit.document.uri.toString());
  }

  has(edit: Edit): boolean {
    return this.find(edit.document.uri) === edit;
  }

  /** Return the edit of a document, or of the right side of its diff. */
  find(uri: vscode.Uri): Edit | undefined {
    const key = uri.toString();
    return this.#edits.get(key) ?? [...this].find((each) => each.proposed.toString() === key);
  }

  /** Return the edit of the given document. If none is given, return the active document's edit, or else the only edit. */
  findFor(uri: unknown): Edit | undefined {
    if (uri instanceof vscode.Uri) {
      return this.find(uri);
    }
    const active = vscode.window.activeTextEditor?.document.uri;
    // Fall back to the only edit, because VS Code has no active editor while a diff opens.
    const only = this.#edits.size === 1 ? [...this][0] : undefined;
    return (active && this.find(active)) ?? only;
  }
}
