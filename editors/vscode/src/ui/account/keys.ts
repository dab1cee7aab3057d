import * as vscode from 'vscode';

import { DaemonError } from '../../daemon/errors';
import type { Daemon } from '../../daemon/supervisor';
import { runWithCancel, showError, showInformation, showWarning } from '../common/messages';
import { describeAccount } from '../common/words';

const TITLE = vscode.l10n.t('Set API Key');

/** Ask for a provider's key, which the daemon tests and stores. */
export async function setKey(daemon: Daemon, named?: string): Promise<void> {
  const provider = named ?? (await pickKeyed(daemon));
  const key = provider === undefined ? undefined : await askForKey(provider);
  if (provider !== undefined && key !== undefined && key !== '') {
    await storeKey(daemon, provider, key);
  }
}

/** Ask for a key without displaying it. Returns undefined if the user cancels. */
export async function askForKey(provider: string, isOptional = false): Promise<string | undefined> {
  const prompt = vscode.l10n.t(
    'The API key of {0}, which the daemon stores in the keyring or in a private file',
    provider,
  );
  const key = await vscode.window.showInputBox({
    title: TITLE,
    prompt: isOptional
      ? vscode.l10n.t('{0}. Leave it empty if the server does not need one.', prompt)
      : prompt,
    password: true,
    ignoreFocusOut: true,
  });
  return key?.trim();
}

/** Let the daemon test and store a key, and show the result. */
export async function storeKey(daemon: Daemon, provider: string, key: string): Promise<void> {
  const { stored, test } = await runWithCancel(vscode.l10n.t('Testing the key for {0}', provider), (token) =>
    daemon.request('keys/set', { provider, key }, token),
  );
  const place = stored === 'keyring' ? vscode.l10n.t('in the keyring') : vscode.l10n.t('in a private file');
  if (stored === undefined && test?.error) {
    showError(
      new DaemonError(
        test.error.code,
        vscode.l10n.t('The key was not stored. {0}', test.error.message),
        test.error.data,
      ),
    );
  } else if (test?.error) {
    showWarning(
      vscode.l10n.t(
        'The key of {0} is stored {1}, but could not be tested: {2}',
        provider,
        place,
        test.error.message,
      ),
    );
  } else {
    showInformation(vscode.l10n.t('The key of {0} works, and is stored {1}.', provider, place));
  }
}

interface Row extends vscode.QuickPickItem {
  id?: string;
}

/** Let the user pick a provider that uses an API key, or a well-known service, which the daemon then configures. */
async function pickKeyed(daemon: Daemon): Promise<string | undefined> {
  const [{ providers }, { templates }] = await Promise.all([
    daemon.request('providers/list', {}),
    daemon.request('providers/templates', {}),
  ]);
  const keyed = providers.filter((each) => each.authMethod === 'api_key');
  const others = templates.filter(
    ({ id, needsKey }) => needsKey && !providers.some((each) => each.id === id),
  );
  const rows: Row[] = [
    ...keyed.map((each) => ({ label: each.name, description: describeAccount(each), id: each.id })),
    { label: vscode.l10n.t('not configured yet'), kind: vscode.QuickPickItemKind.Separator },
    ...others.map(({ id, title }) => ({ label: title, id })),
  ];
  return (await vscode.window.showQuickPick(rows, { title: TITLE, placeHolder: vscode.l10n.t('Provider') }))
    ?.id;
}
