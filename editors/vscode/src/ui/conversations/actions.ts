import * as vscode from 'vscode';

import type { ConversationRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showInformation } from '../common/messages';
import type { Transcripts } from '../transcripts/transcripts';

/** The actions on kept conversations, for both the view and the history picker. */
export class ConversationActions {
  readonly #daemon: Daemon;
  readonly #transcripts: Transcripts;

  constructor(daemon: Daemon, transcripts: Transcripts) {
    this.#daemon = daemon;
    this.#transcripts = transcripts;
  }

  /** Open the conversation as a read-only document. */
  open(row: ConversationRow): Promise<void> {
    return this.#transcripts.show(row);
  }

  /** Open the conversation as a chat that can be edited and sent. */
  continue(row: ConversationRow): Promise<void> {
    return this.#transcripts.continue(row.id);
  }

  async fork(row: ConversationRow): Promise<void> {
    const fork = await this.#daemon.request('conversations/fork', { id: row.id });
    await this.#transcripts.continue(fork.id);
  }

  async rename(row: ConversationRow): Promise<void> {
    const title = await vscode.window.showInputBox({
      title: vscode.l10n.t('Rename the conversation'),
      value: row.title,
    });
    if (title !== undefined && title.trim() !== '') {
      await this.#daemon.request('conversations/rename', { id: row.id, title: title.trim() });
    }
  }

  async delete(row: ConversationRow): Promise<void> {
    const question = vscode.l10n.t('Delete "{0}"?', row.title);
    const detail = vscode.l10n.t('The conversation is deleted for all editors. This cannot be undone.');
    const remove = vscode.l10n.t('Delete');
    if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, remove)) !== remove) {
      return;
    }
    const { deleted } = await this.#daemon.request('conversations/delete', { id: row.id });
    if (!deleted) {
      showInformation(vscode.l10n.t('The conversation was already deleted.'));
    }
  }
}
