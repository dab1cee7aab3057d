import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { AuthStatus, Provider, WireError } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import type { Facts, FactsReader } from '../common/facts';
import { showWarning } from '../common/messages';
import { describeLoss, findSetUpActions } from '../common/problems';
import type { SessionUsage } from '../common/usage';
import { describeAccount, isSignedOut, isUnreachable, findLeastQuota, formatQuota } from '../common/words';
import { formatLabel, formatStatus } from './statusText';

const COLOURS = {
  normal: undefined,
  warning: new vscode.ThemeColor('statusBarItem.warningBackground'),
  error: new vscode.ThemeColor('statusBarItem.errorBackground'),
};

/** Create the status bar item. */
export function createStatusBar(facts: FactsReader, usage: SessionUsage): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('jumpseat.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'jumpseat';
  item.command = 'jumpseat.status';
  const show = (): void => {
    const { text, tooltip, look } = formatStatus(facts.current, usage.describe());
    item.text = text;
    item.tooltip = new vscode.MarkdownString(tooltip);
    item.backgroundColor = COLOURS[look];
    item.accessibilityInformation = { label: formatLabel(text) };
  };
  show();
  item.show();
  return vscode.Disposable.from(item, facts.onDidChange(show), usage.onDidChange(show));
}

/** Warn if a provider is no longer ready, such as after a sign-out in another editor or the removal of the local model. */
export function watchSignOut(daemon: Daemon, isSigningOut: () => boolean): Disposable {
  const states = new Map<string, AuthStatus['state']>();
  return daemon.onNotification('auth/didChange', (account) => {
    const before = states.get(account.provider);
    states.set(account.provider, account.state);
    if (isSignedOut(account) && before !== account.state && !isSigningOut()) {
      const { text, actions } = describeLoss(account);
      showWarning(text, ...actions);
    }
  });
}

interface Row extends vscode.QuickPickItem {
  command?: string;
  arguments?: unknown[];
  /** The advice to show if no command helps. */
  advice?: string;
}

/** Return the command or the advice that makes a provider ready. */
function findNextStep(provider: Provider): Partial<Row> {
  const [action] = findSetUpActions(provider);
  if (action) {
    return { command: action.command, arguments: action.arguments ?? [] };
  }
  return provider.auth.message === undefined ? {} : { advice: provider.auth.message };
}

function toProviderRow(provider: Provider, failure: WireError | undefined): Row {
  const quota = findLeastQuota(provider.auth);
  const reason = isUnreachable(provider, failure) ? failure?.message : provider.auth.message;
  const detail = reason ?? (quota && formatQuota(quota));
  return {
    label: provider.name,
    description: describeAccount(provider, failure),
    ...(detail !== undefined && { detail }),
    ...(isSignedOut(provider.auth) && findNextStep(provider)),
  };
}

const THIS_WINDOW: Row = { label: vscode.l10n.t('This window'), kind: vscode.QuickPickItemKind.Separator };

const COMMANDS: Row[] = [
  { label: `$(symbol-misc) ${vscode.l10n.t('Select Model')}`, command: 'jumpseat.selectModel' },
  { label: `$(list-selection) ${vscode.l10n.t('Set Utility Models')}`, command: 'jumpseat.setUtilityModels' },
  { label: `$(server) ${vscode.l10n.t('Manage Providers')}`, command: 'jumpseat.manageProviders' },
  { label: `$(refresh) ${vscode.l10n.t('Refresh Models')}`, command: 'jumpseat.refreshModels' },
  { label: `$(history) ${vscode.l10n.t('History')}`, command: 'jumpseat.history' },
  { label: `$(sign-in) ${vscode.l10n.t('Sign In')}`, command: 'jumpseat.signIn' },
  { label: `$(sign-out) ${vscode.l10n.t('Sign Out')}`, command: 'jumpseat.signOut' },
  { label: `$(pulse) ${vscode.l10n.t('Doctor')}`, command: 'jumpseat.doctor' },
  { label: `$(output) ${vscode.l10n.t('Show Log')}`, command: 'jumpseat.showLog' },
  { label: `$(debug-restart) ${vscode.l10n.t('Restart Server')}`, command: 'jumpseat.restart' },
];

/** Show the providers with their accounts and quotas, and the available actions. */
export async function showStatus(daemon: Daemon, failures: Facts['failures'], usage: string): Promise<void> {
  let rows: Row[];
  let title = 'jumpseat';
  try {
    const { providers } = await daemon.request('providers/list', {});
    title = `jumpseat ${daemon.info?.serverInfo.version ?? ''}`.trim();
    rows = [
      { label: vscode.l10n.t('Providers'), kind: vscode.QuickPickItemKind.Separator },
      ...providers.map((each) => toProviderRow(each, failures.get(each.id))),
    ];
  } catch {
    const failure = daemon.failure;
    rows = [
      {
        label: `$(error) ${vscode.l10n.t('jumpseat is not running')}`,
        ...(failure && { detail: failure.sentence }),
        command: 'jumpseat.showLog',
      },
    ];
  }
  const items: Row[] = [
    ...rows,
    ...(usage ? [THIS_WINDOW, { label: usage }] : []),
    { label: vscode.l10n.t('Commands'), kind: vscode.QuickPickItemKind.Separator },
    ...COMMANDS,
  ];
  const chosen = await vscode.window.showQuickPick(items, {
    title,
    placeHolder: vscode.l10n.t('Providers, accounts and commands'),
  });
  if (chosen?.advice !== undefined) {
    showWarning(chosen.advice);
  }
  if (chosen?.command !== undefined) {
    await vscode.commands.executeCommand(chosen.command, ...(chosen.arguments ?? []));
  }
}
