import * as vscode from 'vscode';

import type { Extent } from './place';

const SECTION = 'jumpseat.completions';

export interface CompletionSettings {
  enabled: boolean;
  /** `provider:model`; empty if the user has not chosen one. */
  model: string;
  extent: Extent;
}

/** Read the settings, which may differ between languages. */
export function readCompletionSettings(scope?: vscode.TextDocument): CompletionSettings {
  const values = vscode.workspace.getConfiguration(SECTION, scope);
  return {
    enabled: values.get('enabled', false),
    model: values.get('model', ''),
    extent: values.get('extent', 'block'),
  };
}

/** Whether the settings of the user or of the workspace switch completions on or off. */
export function hasChosen(): boolean {
  const found = vscode.workspace.getConfiguration(SECTION).inspect('enabled');
  return found?.globalValue !== undefined || found?.workspaceValue !== undefined;
}

/** Change the user settings, which apply to all windows. */
export async function saveCompletionSettings(changes: Partial<CompletionSettings>): Promise<void> {
  const values = vscode.workspace.getConfiguration(SECTION);
  for (const [name, value] of Object.entries(changes)) {
    await values.update(name, value, vscode.ConfigurationTarget.Global);
  }
}

export function onDidChangeCompletionSettings(handle: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration(SECTION)) {
      handle();
    }
  });
}
