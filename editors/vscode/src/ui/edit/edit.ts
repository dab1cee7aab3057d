import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import { cutOff } from '../../base/cutOff';
import { asDaemonError } from '../../daemon/errors';
import type { ContextBlock, EditResult } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import {
  registerCommand,
  createContextSetter,
  showError,
  showInformation,
  showWarning,
  runWithCancel,
} from '../common/messages';
import { rangeOf } from '../input/references';
import { showDocument } from '../text/documents';
import { changesOf, lineEndOf, rangeOfSpan } from '../text/spans';
import { Rewrite } from './rewrite';
import {
  askForInstruction,
  closeProposal,
  createLenses,
  describeLines,
  nameOf,
  offerProposal,
  proposedUri,
  SCHEME,
  showProposal,
  findTab,
  findTarget,
  warnUnfinished,
  createActions,
} from './view';

/** The minimum interval between computations of the diff while the model writes. */
const FRAME_MS = 100;

interface Edit {
  document: vscode.TextDocument;
  rewrite: Rewrite;
  instruction: string;
  /** The right side of the diff. */
  proposed: vscode.Uri;
  /** Ends the turn. Absent if the turn has ended. */
  stop?: vscode.CancellationTokenSource;
  /** Resolves when the diff has opened. */
  shown?: Promise<void>;
}

const OPEN = 'This file already has an edit. Accept or reject it first.';
const RESTORE = { title: 'Restore', command: 'jumpseat.restoreEdit' };

/** Rewrites of pieces of documents: shown as a diff, and applied if the text is still the one that was sent. */
export class Edits implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider {
  readonly #daemon: Daemon;
  readonly #edits = new Map<string, Edit>();
  readonly #contentChanged = new vscode.EventEmitter<vscode.Uri>();
  readonly #lensesChanged = new vscode.EventEmitter<void>();
  readonly #setContext = createContextSetter('jumpseat.edit');
  readonly #setEdited = createContextSetter('jumpseat.isEdited');
  #count = 0;
  /** The instruction of the last edit that produced nothing, offered for the next one. */
  #unused = '';
  /** The most recently rejected finished edit. */
  #rejected: Edit | undefined;
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChange = this.#contentChanged.event;
  readonly onDidChangeCodeLenses = this.#lensesChanged.event;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.languages.registerCodeLensProvider({ scheme: '*' }, this),
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.#handleDocumentChange(event);
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.#updateContext();
      }),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        this.#handleClosedTabs(closed);
      }),
      registerCommand('jumpseat.edit', (instruction?: unknown) =>
        this.start(typeof instruction === 'string' ? instruction : undefined),
      ),
      registerCommand('jumpseat.acceptEdit', (uri?: unknown) => this.accept(this.#findEditFor(uri))),
      registerCommand('jumpseat.rejectEdit', (uri?: unknown) => this.reject(this.#findEditFor(uri))),
      registerCommand('jumpseat.editAgain', (uri?: unknown) => this.rewriteAgain(this.#findEditFor(uri))),
      registerCommand('jumpseat.showEdit', (uri?: unknown) => this.#show(this.#findEditFor(uri), true)),
      registerCommand('jumpseat.restoreEdit', () => this.restore()),
      vscode.Disposable.from(this.#contentChanged, this.#lensesChanged),
      new vscode.Disposable(() => {
        clearTimeout(this.#timer);
      }),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const edit = [...this.#edits.values()].find((each) => each.proposed.toString() === uri.toString());
    return edit ? edit.rewrite.proposal(edit.document.getText()) : '';
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const edit = this.#findEdit(document.uri);
    if (!edit) {
      return [];
    }
    const { line } = edit.document.positionAt(edit.rewrite.span.start);
    return createLenses(line, edit.document.uri, edit.stop !== undefined);
  }

  /** Rewrite the selection or the current line. Asks for the instruction if there is none. */
  async start(instruction?: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme === SCHEME) {
      showWarning('Open a file, and select what to rewrite.');
      return;
    }
    const { document } = editor;
    if (this.#findEdit(document.uri)) {
      showWarning(OPEN);
      return;
    }
    const target = findTarget(editor);
    const text =
      instruction ??
      (await askForInstruction(
        `${describeLines(target)} of ${vscode.workspace.asRelativePath(document.uri)}`,
        this.#unused,
      ));
    if (text !== undefined && !this.#findEdit(document.uri)) {
      await this.#run(document, target, text);
    }
  }

  /** Apply the rewritten text, in one undo step. */
  async accept(edit: Edit | undefined): Promise<void> {
    const replacement = edit?.rewrite.replacement;
    if (!edit || replacement === undefined) {
      warnUnfinished(edit);
      return;
    }
    const document = await vscode.workspace.openTextDocument(edit.document.uri);
    if (!edit.rewrite.isUnchangedIn(document.getText())) {
      await offerProposal(document, edit.proposed);
      showWarning(
        'The text has changed since it was sent, so the edit was not applied. The new text is shown beside it.',
      );
      return;
    }
    const { span } = edit.rewrite;
    // A `WorkspaceEdit` would change the document even if its editor is read-only.
    const editor = await showDocument(document, { preview: false });
    await editor.edit((change) => {
      change.replace(rangeOfSpan(document, span), replacement);
    });
    const after = rangeOfSpan(document, { start: span.start, end: span.start + replacement.length });
    if (document.getText(after) !== replacement) {
      showWarning(
        `${nameOf(document)} is read-only, so the edit was not applied. Make it writable, then accept the edit again.`,
      );
      return;
    }
    await this.#close(edit);
    await showDocument(document, { selection: after, preview: false });
  }

  /** Drop the rewritten text, or stop the turn that is writing it. */
  async reject(edit: Edit | undefined): Promise<void> {
    if (!edit) {
      showWarning('There is no edit in this file.');
      return;
    }
    edit.stop?.cancel();
    this.#unused = edit.instruction;
    await this.#drop(edit);
    await showDocument(edit.document);
    if (this.#rejected === edit) {
      showInformation(`The edit of ${nameOf(edit.document)} was rejected.`, RESTORE);
    }
  }

  /** Restore the most recently rejected finished edit. */
  async restore(): Promise<void> {
    const edit = this.#rejected;
    if (!edit) {
      showWarning('There is no rejected edit to restore.');
      return;
    }
    if (this.#findEdit(edit.document.uri)) {
      showWarning(OPEN);
      return;
    }
    this.#rejected = undefined;
    this.#edits.set(edit.document.uri.toString(), edit);
    this.#refresh(edit);
    await this.#show(edit, true);
  }

  /** Rewrite the same piece again, with the same instruction or another one. */
  async rewriteAgain(edit: Edit | undefined): Promise<void> {
    if (!edit || edit.stop) {
      warnUnfinished(edit);
      return;
    }
    const instruction = await askForInstruction('again', edit.instruction);
    if (instruction === undefined) {
      return;
    }
    const range = rangeOfSpan(edit.document, edit.rewrite.span);
    await this.#drop(edit);
    await this.#run(edit.document, range, instruction);
  }

  async #run(document: vscode.TextDocument, target: vscode.Range, instruction: string): Promise<void> {
    const span = { start: document.offsetAt(target.start), end: document.offsetAt(target.end) };
    const rewrite = new Rewrite(document.getText(), span, lineEndOf(document));
    const stop = new vscode.CancellationTokenSource();
    this.#unused = '';
    const edit: Edit = {
      document,
      rewrite,
      instruction,
      proposed: proposedUri(document, ++this.#count),
      stop,
    };
    this.#edits.set(document.uri.toString(), edit);
    this.#refresh(edit);
    try {
      const result = await runWithCancel(`Rewriting ${describeLines(target)}`, (token) => {
        token.onCancellationRequested(() => {
          stop.cancel();
        });
        return this.#runTurn(edit, target);
      });
      if (!rewrite.finish(result)) {
        this.#unused = instruction;
        await this.#close(edit);
        const text = result.text.trim();
        const warning = `The model returned no text to apply${text === '' ? '.' : `: ${text}`}`;
        showWarning(cutOff(result.stopReason) ?? warning);
      }
    } catch (error) {
      this.#unused = instruction;
      await this.#close(edit);
      if (asDaemonError(error).cancelled) {
        showInformation('The edit was stopped.');
      } else {
        showError(error);
      }
    } finally {
      delete edit.stop;
      stop.dispose();
    }
    if (this.#isOpen(edit)) {
      this.#refresh(edit);
      await edit.shown;
      this.#remind(edit, 'is ready');
    }
  }

  #runTurn(edit: Edit, target: vscode.Range): Promise<EditResult> {
    const { document, rewrite, instruction } = edit;
    const block: ContextBlock = {
      type: 'context',
      uri: document.uri.toString(),
      languageId: document.languageId,
      text: rewrite.sent,
      range: rangeOf(target),
    };
    // A truncated edit cannot be applied.
    const params = {
      target: block,
      instruction,
      turnId: randomUUID(),
      maxTokensDefault: 'model' as const,
    };
    return this.#daemon.turn(
      'edit/start',
      params,
      (delta) => {
        if (delta.type === 'response') {
          rewrite.clear();
        }
        if (delta.type === 'text_delta') {
          rewrite.add(delta.text);
          this.#refreshSoon();
          edit.shown ??= this.#show(edit, false).catch(showError);
        }
      },
      edit.stop?.token,
    );
  }

  async #show(edit: Edit | undefined, focus: boolean): Promise<void> {
    if (edit && this.#isOpen(edit)) {
      await showProposal(edit.document, edit.proposed, edit.rewrite.span.start, focus);
      if (!this.#isOpen(edit)) {
        // The edit was stopped while the diff opened.
        await closeProposal(edit.proposed);
      }
    }
  }

  /** Offer the possible actions on a finished edit whose diff is closed. */
  #remind(edit: Edit, state: string): void {
    if (edit.stop === undefined && this.#isOpen(edit) && findTab(edit.proposed) === undefined) {
      showInformation(`The edit of ${nameOf(edit.document)} ${state}.`, ...createActions(edit.proposed));
    }
  }

  /** Close an edit without applying it. A finished one can be restored. */
  async #drop(edit: Edit): Promise<void> {
    if (edit.rewrite.replacement !== undefined) {
      this.#rejected = edit;
    }
    await this.#close(edit);
  }

  async #close(edit: Edit): Promise<void> {
    if (this.#isOpen(edit)) {
      this.#edits.delete(edit.document.uri.toString());
      this.#refresh(edit);
    }
    await closeProposal(edit.proposed);
  }

  #isOpen(edit: Edit): boolean {
    return this.#findEdit(edit.document.uri) === edit;
  }

  /** Return the edit of a document, or of the right side of its diff. */
  #findEdit(uri: vscode.Uri): Edit | undefined {
    const key = uri.toString();
    return this.#edits.get(key) ?? [...this.#edits.values()].find((each) => each.proposed.toString() === key);
  }

  /** Return the edit for a command: that of the given document, else of the active one, else the only one. */
  #findEditFor(uri: unknown): Edit | undefined {
    if (uri instanceof vscode.Uri) {
      return this.#findEdit(uri);
    }
    const active = vscode.window.activeTextEditor?.document.uri;
    // VS Code has no active editor while a diff opens.
    const only = this.#edits.size === 1 ? [...this.#edits.values()][0] : undefined;
    return (active && this.#findEdit(active)) ?? only;
  }

  #handleDocumentChange(event: vscode.TextDocumentChangeEvent): void {
    const key = event.document.uri.toString();
    const edits = [...this.#edits.values(), this.#rejected];
    for (const edit of edits.filter((each) => each?.document.uri.toString() === key)) {
      edit?.rewrite.applyChanges(changesOf(event));
      this.#refreshSoon();
    }
  }

  #handleClosedTabs(closed: readonly vscode.Tab[]): void {
    for (const { input } of closed) {
      const edit = input instanceof vscode.TabInputTextDiff ? this.#findEdit(input.original) : undefined;
      if (!edit || !(input instanceof vscode.TabInputTextDiff)) {
        continue;
      }
      if (input.original.scheme === SCHEME) {
        // The edit could not be applied, and the user has taken the wanted parts from this diff.
        this.#drop(edit).catch(showError);
      } else if (input.modified.toString() === edit.proposed.toString()) {
        this.#remind(edit, 'is not yet accepted or rejected');
      }
    }
  }

  #refreshSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#edits.forEach((edit) => {
        this.#refresh(edit);
      });
    }, FRAME_MS);
  }

  #refresh(edit: Edit): void {
    this.#contentChanged.fire(edit.proposed);
    this.#lensesChanged.fire();
    this.#updateContext();
  }

  /** Set the context that determines the active editor's buttons. */
  #updateContext(): void {
    const edit = this.#findEditFor(undefined);
    const active = vscode.window.activeTextEditor?.document.uri;
    this.#setContext(edit && (edit.stop ? 'writing' : 'ready'));
    this.#setEdited(active !== undefined && this.#findEdit(active) !== undefined);
  }
}
