import * as vscode from 'vscode';

import { hasChosen, onDidChangeCompletionSettings, readCompletionSettings } from './settings';
import type { CompletionState } from './state';
import { formatCompletionStatus } from './statusText';

/** Create the status bar item, which appears once the user has switched completions on or off. */
export function createCompletionStatus(state: CompletionState): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('jumpseat.completions', vscode.StatusBarAlignment.Right, 99);
  item.name = vscode.l10n.t('jumpseat Completions');
  item.command = 'jumpseat.toggleCompletions';
  const show = (): void => {
    const { enabled, model } = readCompletionSettings(vscode.window.activeTextEditor?.document);
    const { text, label, tooltip } = formatCompletionStatus({
      enabled,
      model: state.model ?? model,
      isRunning: state.isRunning,
      ...(state.failure && { problem: state.failure.sentence }),
    });
    item.text = text;
    item.accessibilityInformation = { label };
    item.tooltip = new vscode.MarkdownString(tooltip);
    item.tooltip.isTrusted = { enabledCommands: ['jumpseat.selectCompletionModel'] };
    if (hasChosen()) {
      item.show();
    } else {
      item.hide();
    }
  };
  show();
  return vscode.Disposable.from(
    item,
    state.onDidChange(show),
    onDidChangeCompletionSettings(show),
    vscode.window.onDidChangeActiveTextEditor(show),
  );
}
