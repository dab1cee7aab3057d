import * as vscode from 'vscode';

import { showWarning } from '../common/messages';
import { fence } from '../text/markdown';
import { openChat } from './ask';

/** Explain the text that is selected in the terminal. If none is selected, offer to explain the text of the clipboard. */
export async function explainTerminal(): Promise<void> {
  const copied = await vscode.env.clipboard.readText();
  // Extensions cannot read the selection of a terminal, except through the clipboard.
  await vscode.commands.executeCommand('workbench.action.terminal.copySelection');
  const selected = await vscode.env.clipboard.readText();
  if (selected.trim() === '') {
    showWarning(vscode.l10n.t('Select text in the terminal, or copy some.'));
    return;
  }
  if (selected !== copied) {
    await vscode.env.clipboard.writeText(copied);
  }
  // If the clipboard is unchanged, its text may not be from the terminal, so let the user check and send the question.
  await openChat(`@jumpseat /explain\n${fence(selected.trimEnd(), '')}`, [], selected === copied);
}
