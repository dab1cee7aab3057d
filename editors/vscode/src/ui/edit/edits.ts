import * as vscode from 'vscode';

import { describeCutOff } from '../../base/cutOff';
import { asDaemonError } from '../../daemon/errors';
import type { Daemon } from '../../daemon/supervisor';
import { registerCommand, showError, showInformation, showWarning, runWithCancel } from '../common/messages';
import { showDocument } from '../text/documents';
import { changesOf, rangeOfSpan } from '../text/spans';
import { applyChanges, chooseChange } from './changes';
import { EditDisplay } from './display';
import { Edit } from './edit';
import { OpenEdits } from './open';
import { runTurns } from './turn';
import {
  askForInstruction,
  closeProposal,
  describeTargets,
  nameOf,
  proposedUri,
  SCHEME,
  showProposal,
  findTab,
  findTargets,
  warnUnfinished,
  createActions,
} from './view';

/** The maximum number of places that one edit can rewrite. */
const MOST_PLACES = 20;

function warnOpen(): void {
  showWarning(vscode.l10n.t('This file already has an edit. Accept or reject it first.'));
}

/**
 * The open edits. An edit rewrites pieces of one document. Its new text is shown as a diff, and is applied only if the
 * user has not changed the pieces since they were sent.
 */
export class Edits {
  readonly #daemon: Daemon;
  readonly #edits = new OpenEdits();
  readonly #display = new EditDisplay(this.#edits);
  #count = 0;
  /** The instruction of the last edit if that edit failed or was rejected, as the default for the next one. */
  #retryInstruction = '';
  /** The finished edit that was most recently closed with changes that were not accepted; see `restore`. */
  #rejected: Edit | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.#display.register(),
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.#handleDocumentChange(event);
      }),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        this.#handleClosedTabs(closed);
      }),
      registerCommand('jumpseat.edit', (instruction?: unknown, target?: unknown) =>
        this.start(
          typeof instruction === 'string' ? instruction : undefined,
          target instanceof vscode.Range ? target : undefined,
        ),
      ),
      registerCommand('jumpseat.acceptEdit', (uri?: unknown) => this.accept(this.#edits.findFor(uri))),
      registerCommand('jumpseat.rejectEdit', (uri?: unknown) => this.reject(this.#edits.findFor(uri))),
      registerCommand('jumpseat.acceptChange', (uri?: unknown, index?: unknown) =>
        this.acceptChange(this.#edits.findFor(uri), index),
      ),
      registerCommand('jumpseat.rejectChange', (uri?: unknown, index?: unknown) =>
        this.rejectChange(this.#edits.findFor(uri), index),
      ),
      registerCommand('jumpseat.editAgain', (uri?: unknown) => this.rewriteAgain(this.#edits.findFor(uri))),
      registerCommand('jumpseat.showEdit', (uri?: unknown) => this.#show(this.#edits.findFor(uri), true)),
      registerCommand('jumpseat.restoreEdit', () => this.restore()),
    );
  }

  /** Rewrite the given range, or else the selections or current lines. If no instruction is given, asks for one. */
  async start(instruction?: string, target?: vscode.Range): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.document.uri.scheme === SCHEME) {
      showWarning(vscode.l10n.t('Open a file, and select what to rewrite.'));
      return;
    }
    const { document } = editor;
    if (this.#edits.find(document.uri)) {
      warnOpen();
      return;
    }
    const targets = target ? [target] : findTargets(editor);
    if (targets.length > MOST_PLACES) {
      showWarning(vscode.l10n.t('Select at most {0} places.', MOST_PLACES));
      return;
    }
    const what = vscode.l10n.t(
      '{0} of {1}',
      describeTargets(targets),
      vscode.workspace.asRelativePath(document.uri),
    );
    const text =
      instruction ?? (await askForInstruction(vscode.l10n.t('Rewrite {0}', what), this.#retryInstruction));
    if (text !== undefined && !this.#edits.find(document.uri)) {
      await this.#run(document, targets, text);
    }
  }

  /** Apply the rewritten text, in one undo step. */
  async accept(edit: Edit | undefined): Promise<void> {
    if (!edit?.isFinished) {
      warnUnfinished(edit);
      return;
    }
    const acceptedSpan = edit.proposedSpan;
    const document = await applyChanges(
      edit,
      edit.pieces.map(({ span, replacement = '' }) => ({ span, text: replacement })),
    );
    if (document) {
      await this.#close(edit);
      await showDocument(document, { selection: rangeOfSpan(document, acceptedSpan), preview: false });
    }
  }

  /** Apply one change of a finished edit, in one undo step. */
  async acceptChange(edit: Edit | undefined, index: unknown): Promise<void> {
    const chosen = chooseChange(edit, index);
    if (!edit || !chosen) {
      return;
    }
    const { piece, hunk, old } = chosen;
    const acceptedSpan = piece.recordAccepted(hunk, edit.document.getText());
    if (await applyChanges(edit, [{ span: old, text: piece.textOf(hunk) }])) {
      // `piece.follow` has already moved the span, but it leaves out text that is inserted at an edge of the piece. That
      // is right for text from the user. The text of an accepted hunk belongs to the piece, so set the span here.
      piece.span = acceptedSpan;
      await this.#settle(edit);
    }
  }

  /** Reject one change of a finished edit. */
  async rejectChange(edit: Edit | undefined, index: unknown): Promise<void> {
    const chosen = chooseChange(edit, index);
    if (edit && chosen) {
      chosen.piece.reject(chosen.hunk, edit.document.getText());
      await this.#settle(edit);
    }
  }

  /** Close an edit without applying it. If the model is still writing the new text, stop the model. */
  async reject(edit: Edit | undefined): Promise<void> {
    if (!edit) {
      showWarning(vscode.l10n.t('There is no edit in this file.'));
      return;
    }
    edit.stop?.cancel();
    this.#retryInstruction = edit.instruction;
    await this.#drop(edit);
    await showDocument(edit.document);
    if (this.#rejected === edit) {
      showInformation(vscode.l10n.t('The edit of {0} was rejected.', nameOf(edit.document)), {
        title: vscode.l10n.t('Restore'),
        command: 'jumpseat.restoreEdit',
      });
    }
  }

  /** Open the most recently rejected edit again, with all its rejected changes. */
  async restore(): Promise<void> {
    const edit = this.#rejected;
    if (!edit) {
      showWarning(vscode.l10n.t('There is no rejected edit to restore.'));
      return;
    }
    if (this.#edits.find(edit.document.uri)) {
      warnOpen();
      return;
    }
    this.#rejected = undefined;
    edit.pieces.forEach((piece) => {
      piece.restore();
    });
    this.#edits.add(edit);
    this.#display.refresh(edit);
    await this.#show(edit, true);
  }

  /** Rewrite the pieces of an edit again, after the user has changed or confirmed the instruction. */
  async rewriteAgain(edit: Edit | undefined): Promise<void> {
    if (!edit || edit.stop) {
      warnUnfinished(edit);
      return;
    }
    const instruction = await askForInstruction(vscode.l10n.t('Rewrite again'), edit.instruction);
    if (instruction === undefined) {
      return;
    }
    const targets = edit.pieces.map(({ span }) => rangeOfSpan(edit.document, span));
    await this.#drop(edit);
    await this.#run(edit.document, targets, instruction);
  }

  async #run(document: vscode.TextDocument, targets: vscode.Range[], instruction: string): Promise<void> {
    const edit = new Edit(document, targets, instruction, proposedUri(document, ++this.#count));
    this.#retryInstruction = '';
    this.#edits.add(edit);
    this.#display.refresh(edit);
    try {
      const results = await runWithCancel(
        vscode.l10n.t('Rewriting {0}', describeTargets(targets)),
        async (token) => {
          token.onCancellationRequested(() => edit.stop?.cancel());
          return await runTurns(this.#daemon, edit, () => {
            this.#display.refreshSoon();
            edit.shown ??= this.#show(edit, false).catch(showError);
          });
        },
      );
      // Store the results in their pieces, up to the first result that has no text to apply.
      const failed = results.find((result, index) => edit.pieces[index]?.storeResult(result) === false);
      if (failed) {
        this.#retryInstruction = instruction;
        await this.#close(edit);
        showWarning(
          describeCutOff(failed.stopReason) ??
            (failed.text.trim() === ''
              ? vscode.l10n.t('The model returned no text to apply.')
              : vscode.l10n.t('The model returned no text to apply: {0}', failed.text.trim())),
        );
      }
    } catch (error) {
      this.#retryInstruction = instruction;
      await this.#close(edit);
      if (asDaemonError(error).cancelled) {
        showInformation(vscode.l10n.t('The edit was stopped.'));
      } else {
        showError(error);
      }
    } finally {
      edit.markTurnsEnded();
    }
    if (this.#edits.has(edit)) {
      this.#display.refresh(edit);
      await edit.shown;
      this.#remind(edit, vscode.l10n.t('The edit of {0} is ready.', nameOf(document)));
    }
  }

  /** Show the remaining changes of an edit. If none remain, close the edit, unless the user has changed the pieces. */
  async #settle(edit: Edit): Promise<void> {
    if (edit.hunks.length > 0 || !edit.isUnchanged) {
      this.#display.refresh(edit);
      return;
    }
    if (edit.pieces.some(({ hasRejected }) => hasRejected)) {
      this.#rejected = edit;
    }
    await this.#close(edit);
  }

  async #show(edit: Edit | undefined, focus: boolean): Promise<void> {
    if (edit && this.#edits.has(edit)) {
      await showProposal(edit.document, edit.proposed, edit.start, focus);
      if (!this.#edits.has(edit)) {
        // The edit was stopped while the diff opened.
        await closeProposal(edit.proposed);
      }
    }
  }

  /** Show a message with buttons for a finished edit, unless its diff is open. */
  #remind(edit: Edit, text: string): void {
    if (edit.stop === undefined && this.#edits.has(edit) && findTab(edit.proposed) === undefined) {
      showInformation(text, ...createActions(edit.proposed));
    }
  }

  /** Close an edit without applying it. A finished edit can be restored afterwards. */
  async #drop(edit: Edit): Promise<void> {
    if (edit.isFinished) {
      this.#rejected = edit;
    }
    await this.#close(edit);
  }

  async #close(edit: Edit): Promise<void> {
    if (this.#edits.has(edit)) {
      this.#edits.delete(edit);
      this.#display.refresh(edit);
    }
    await closeProposal(edit.proposed);
  }

  #handleDocumentChange(event: vscode.TextDocumentChangeEvent): void {
    const key = event.document.uri.toString();
    const edits = [...this.#edits, this.#rejected];
    for (const edit of edits.filter((each) => each?.document.uri.toString() === key)) {
      edit?.pieces.forEach((piece) => {
        piece.follow(changesOf(event));
      });
      this.#display.refreshSoon();
    }
  }

  #handleClosedTabs(closed: readonly vscode.Tab[]): void {
    for (const { input } of closed) {
      if (!(input instanceof vscode.TabInputTextDiff)) {
        continue;
      }
      const edit = this.#edits.find(input.original);
      if (!edit) {
        continue;
      }
      if (input.original.scheme === SCHEME) {
        // `offerProposal` opened this diff because the edit could not be applied. The user can copy parts of the new
        // text into the document there, so closing the diff means that the user is done with the edit.
        this.#drop(edit).catch(showError);
      } else if (input.modified.toString() === edit.proposed.toString()) {
        this.#remind(
          edit,
          vscode.l10n.t('The edit of {0} is not yet accepted or rejected.', nameOf(edit.document)),
        );
      }
    }
  }
}
