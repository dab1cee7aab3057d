import * as vscode from 'vscode';

import type { ConversationRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showError } from '../common/messages';
import { describeConversation } from '../common/words';
import type { ConversationActions } from './actions';

/** How long the user must stop typing before the daemon searches. */
const SEARCH_MS = 200;

type Run = (row: ConversationRow) => Promise<void>;

interface Button extends vscode.QuickInputButton {
  run: Run;
}

interface Pick extends vscode.QuickPickItem {
  row: ConversationRow;
}

/** Let the user pick a kept conversation. The daemon searches while the user types. */
export function showHistory(daemon: Daemon, actions: ConversationActions): void {
  const picker = vscode.window.createQuickPick<Pick>();
  const button = (icon: string, tooltip: string, run: Run): Button => ({
    iconPath: new vscode.ThemeIcon(icon),
    tooltip,
    run,
  });
  const buttons = [
    button('edit', vscode.l10n.t('Continue'), (row) => actions.continue(row)),
    button('repo-forked', vscode.l10n.t('Fork'), (row) => actions.fork(row)),
    button('symbol-text', vscode.l10n.t('Rename'), (row) => actions.rename(row)),
    button('trash', vscode.l10n.t('Delete'), (row) => actions.delete(row)),
  ];
  let lastRead = 0;
  let timer: NodeJS.Timeout | undefined;
  const read = async (): Promise<void> => {
    const thisRead = ++lastRead;
    picker.busy = true;
    try {
      const query = picker.value.trim();
      const { conversations } = await daemon.request('conversations/list', query === '' ? {} : { query });
      if (thisRead === lastRead) {
        const now = new Date();
        // The daemon's search includes the texts, so the editor must not filter by title again.
        picker.items = conversations.map((row) => ({
          label: row.title,
          detail: describeConversation(row, now),
          row,
          buttons,
          alwaysShow: true,
        }));
        picker.busy = false;
      }
    } catch (error) {
      picker.hide();
      showError(error);
    }
  };
  const closeAndRun = (run: Run, row: ConversationRow): void => {
    picker.hide();
    run(row).catch(showError);
  };
  picker.title = vscode.l10n.t('Kept conversations');
  picker.placeholder = vscode.l10n.t('Words from a title, a question or an answer');
  picker.onDidChangeValue(() => {
    clearTimeout(timer);
    timer = setTimeout(() => void read(), SEARCH_MS);
  });
  picker.onDidAccept(() => {
    const chosen = picker.selectedItems[0];
    if (chosen) {
      closeAndRun((row) => actions.open(row), chosen.row);
    }
  });
  picker.onDidTriggerItemButton(({ button: pressed, item }) => {
    closeAndRun((pressed as Button).run, item.row);
  });
  picker.onDidHide(() => {
    clearTimeout(timer);
    picker.dispose();
  });
  picker.show();
  void read();
}
