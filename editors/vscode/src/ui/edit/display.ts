import * as vscode from 'vscode';

import { createContextSetter } from '../common/messages';
import type { Edit } from './edit';
import type { OpenEdits } from './open';
import { createLenses, SCHEME } from './view';

/** The minimum interval between computations of the diff while the model writes. */
const FRAME_MS = 100;

/** Displays the open edits: the text on the right side of each diff, the code lenses, and the buttons of the editor. */
export class EditDisplay implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  readonly #edits: OpenEdits;
  readonly #contentChanged = new vscode.EventEmitter<vscode.Uri>();
  readonly #lensesChanged = new vscode.EventEmitter<void>();
  readonly #setContext = createContextSetter('jumpseat.edit');
  readonly #setEdited = createContextSetter('jumpseat.isEdited');
  /** Sets whether the edit in the active editor has several changes. */
  readonly #setDivided = createContextSetter('jumpseat.isDivided');
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChange = this.#contentChanged.event;
  readonly onDidChangeCodeLenses = this.#lensesChanged.event;

  constructor(edits: OpenEdits) {
    this.#edits = edits;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.#contentChanged,
      this.#lensesChanged,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider({ scheme: '*' }, this),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.#updateContext();
      }),
      new vscode.Disposable(() => {
        clearTimeout(this.#timer);
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#edits.find(uri)?.proposal ?? '';
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const edit = this.#edits.find(document.uri);
    return edit?.document.uri.toString() === document.uri.toString() ? createLenses(edit) : [];
  }

  refresh(edit: Edit): void {
    this.#contentChanged.fire(edit.proposed);
    this.#lensesChanged.fire();
    this.#updateContext();
  }

  /** Refresh all edits, at most once per frame. */
  refreshSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const edit of this.#edits) {
        this.refresh(edit);
      }
    }, FRAME_MS);
  }

  /** Set the context that determines the active editor's buttons. */
  #updateContext(): void {
    const edit = this.#edits.findFor(undefined);
    const active = vscode.window.activeTextEditor?.document.uri;
    this.#setContext(edit && (edit.stop ? 'writing' : 'ready'));
    const isEdited = active !== undefined && this.#edits.find(active) !== undefined;
    this.#setEdited(isEdited);
    this.#setDivided(isEdited && (edit?.hunks.length ?? 0) > 1);
  }
}
