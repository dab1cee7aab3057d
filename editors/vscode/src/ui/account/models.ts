import * as vscode from 'vscode';

import { DaemonError } from '../../daemon/errors';
import type { ModelInfo } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import type { ModelProvider } from '../../provider/provider';
import { showError, showInformation, showWarning, runWithStatus } from '../common/messages';
import { groupModelRows, type ModelRow } from './modelRows';

function addHeadings(rows: Map<string, ModelRow[]>): ModelRow[] {
  return [...rows].flatMap(([label, below]) => [
    { label, kind: vscode.QuickPickItemKind.Separator },
    ...below,
  ]);
}

/** Let the user pick a model. Picking a provider that failed shows its error and the possible actions. */
async function pickModel(daemon: Daemon, title: string): Promise<ModelInfo | undefined> {
  const rows = daemon.request('models/list', {}).then((list) => addHeadings(groupModelRows(list)));
  const chosen = await vscode.window.showQuickPick(rows, {
    title,
    placeHolder: vscode.l10n.t('Model'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen?.error !== undefined) {
    const { code, message, data } = chosen.error;
    showError(new DaemonError(code, message, data));
  }
  return chosen?.model && (await acceptTerms(daemon, chosen.model)) ? chosen.model : undefined;
}

/** Ask the user to accept a model's terms, if that is still necessary. Returns false if the user declines. */
async function acceptTerms(daemon: Daemon, model: ModelInfo): Promise<boolean> {
  if (model.policy !== 'unconfigured' || model.policyTerms === undefined) {
    return true;
  }
  const accept = vscode.l10n.t('Accept');
  const chosen = await vscode.window.showInformationMessage(
    vscode.l10n.t('Accept the terms of {0} for your account?', model.name),
    { modal: true, detail: model.policyTerms },
    accept,
  );
  if (chosen !== accept) {
    return false;
  }
  await daemon.request('models/setPolicy', { model: model.id, state: 'enabled' });
  return true;
}

/** Fetch the model lists of all providers again. Returns a text with the number of models and the errors. */
export async function refreshModels(daemon: Daemon, picker: Pick<ModelProvider, 'check'>): Promise<string> {
  const { models, errors } = await runWithStatus(vscode.l10n.t('Fetching models'), () =>
    daemon.request('models/list', { refresh: true }),
  );
  picker.check();
  const { providers } = await daemon.request('providers/list', {});
  const failed = errors.filter(({ provider }) =>
    providers.some((each) => each.id === provider && each.configured),
  );
  const found =
    models.length === 1
      ? vscode.l10n.t('1 model is available.')
      : vscode.l10n.t('{0} models are available.', models.length);
  return [found, ...failed.map(({ error }) => error.message)].join(' ');
}

/** Choose the default model for all clients. */
export async function selectModel(daemon: Daemon, name?: string): Promise<void> {
  const id = name ?? (await pickModel(daemon, vscode.l10n.t('Default model of all editors')))?.id;
  if (id === undefined) {
    return;
  }
  const { warnings } = await daemon.request('settings/save', { settings: { default_model: id } });
  if (warnings) {
    showWarning(warnings.map((each) => each.message).join(' '));
  } else {
    showInformation(vscode.l10n.t('{0} is now the default model for all clients.', id));
  }
}
