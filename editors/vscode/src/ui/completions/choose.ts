import * as vscode from 'vscode';

import type { ModelInfo } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showWarning } from '../common/messages';
import { describeLimits } from '../common/words';
import { readCompletionSettings, saveCompletionSettings } from './settings';

const MANAGE = { title: vscode.l10n.t('Manage Providers'), command: 'jumpseat.manageProviders' };

interface Row extends vscode.QuickPickItem {
  id?: string;
}

/** Turn completions on or off. Without a model, the user chooses one first. */
export async function toggleCompletions(daemon: Daemon): Promise<void> {
  const { enabled, model } = readCompletionSettings();
  if (enabled) {
    await saveCompletionSettings({ enabled: false });
  } else if (model !== '') {
    await saveCompletionSettings({ enabled: true });
  } else {
    await selectCompletionModel(daemon);
  }
}

/** Let the user choose the model of completions, and turn them on. */
export async function selectCompletionModel(daemon: Daemon): Promise<void> {
  const rows = daemon.request('models/list', {}).then(({ models }) => toCompletionRows(models));
  const found = await rows;
  if (found.length === 0) {
    showWarning(vscode.l10n.t('No provider has a model that can fill in the middle of a text.'), MANAGE);
    return;
  }
  const chosen = await vscode.window.showQuickPick(found, {
    title: vscode.l10n.t('Model of inline completions'),
    placeHolder: vscode.l10n.t('The text around the cursor is sent to this model while you type'),
    matchOnDescription: true,
  });
  if (chosen?.id !== undefined) {
    await saveCompletionSettings({ model: chosen.id, enabled: true });
  }
}

/** Return rows for the models that can fill in a text, followed by rows for the models that may be able to do so. */
function toCompletionRows(models: readonly ModelInfo[]): Row[] {
  const able = models.filter(({ supportsInfill }) => supportsInfill === true);
  const unknown = models.filter(
    ({ supportsInfill, pickerEnabled }) => supportsInfill === undefined && pickerEnabled,
  );
  return [
    ...addHeading(vscode.l10n.t('can fill in'), able),
    ...addHeading(vscode.l10n.t('may be able to'), unknown),
  ];
}

function addHeading(label: string, models: readonly ModelInfo[]): Row[] {
  const rows = models.map((model) => ({ label: model.id, description: describeLimits(model), id: model.id }));
  return rows.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...rows];
}
