import * as vscode from 'vscode';

import type { Check, Provider, WireError } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { runWithCancel } from '../common/messages';
import { explainModels, type Finding } from './findings';

interface Row extends vscode.QuickPickItem {
  finding?: Finding;
}

/** Show which models are missing in VS Code and why, for one provider or all. Choosing a row runs its fix. */
export async function diagnoseModels(daemon: Daemon, id?: string): Promise<void> {
  const rows = await runWithCancel(vscode.l10n.t('Looking for models'), (token) =>
    findRows(daemon, id, token),
  );
  const chosen = await vscode.window.showQuickPick(rows, {
    title: vscode.l10n.t('Diagnose Models'),
    placeHolder: vscode.l10n.t('Choose a row to fix it'),
    matchOnDetail: true,
  });
  const action = chosen?.finding?.action;
  if (action) {
    await vscode.commands.executeCommand(action.command, ...(action.arguments ?? []));
  }
}

async function findRows(
  daemon: Daemon,
  id: string | undefined,
  token: vscode.CancellationToken,
): Promise<Row[]> {
  const [{ providers }, { models, errors }] = await Promise.all([
    daemon.request('providers/list', {}, token),
    daemon.request('models/list', { refresh: true, ...(id !== undefined && { provider: id }) }, token),
  ]);
  const shown = providers.filter((each) => id === undefined || each.id === id);
  const groups = await Promise.all(
    shown.map(async (provider) => {
      const failure = errors.find((each) => each.provider === provider.id)?.error;
      const checks = await check(daemon, provider, failure, token);
      const own = models.filter((each) => each.provider === provider.id);
      const heading = { label: provider.name, kind: vscode.QuickPickItemKind.Separator };
      return [heading, ...explainModels(provider, own, failure, checks).map(toRow)];
    }),
  );
  return groups.flat();
}

/** Return the daemon's checks of a provider. Only a configured provider that failed to list its models is checked. */
async function check(
  daemon: Daemon,
  { id, configured }: Provider,
  failure: WireError | undefined,
  token: vscode.CancellationToken,
): Promise<Check[]> {
  return configured && failure
    ? (await daemon.request('providers/diagnose', { provider: id }, token)).checks
    : [];
}

function toRow(finding: Finding): Row {
  const { label, detail, action } = finding;
  return { label, finding, ...(detail && { detail }), ...(action && { description: action.title }) };
}
