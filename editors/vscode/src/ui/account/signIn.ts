import * as vscode from 'vscode';

import type { AuthPrompt, Provider } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showError, showInformation, showWarning, runWithCancel } from '../common/messages';
import { describeAccount, describePrompt, describeSignIn, describeSignOut } from '../common/words';

/** Sign-in and sign-out from this window. */
export class Account {
  readonly #daemon: Daemon;
  /** Whether a sign-out from this window is in progress. The user does not need a warning about it. */
  isSigningOut = false;
  #count = 0;
  #running: vscode.CancellationTokenSource | undefined;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /** Sign in. The daemon chooses the provider if none is named. A pending sign-in is cancelled. */
  async signIn(provider?: string): Promise<void> {
    this.#running?.cancel();
    const stop = new vscode.CancellationTokenSource();
    this.#running = stop;
    // eslint-disable-next-line no-restricted-syntax -- This is an identifier.
    const request = `vscode-sign-in-${process.pid}-${++this.#count}`;
    const account = await runWithCancel(
      provider === undefined ? vscode.l10n.t('Sign in') : vscode.l10n.t('Sign in to {0}', provider),
      async (token, report) => {
        token.onCancellationRequested(() => {
          stop.cancel();
        });
        const prompts = this.#daemon.onNotification('auth/prompt', (prompt) => {
          if (prompt.token === request) {
            report(describePrompt(prompt));
            this.#show(prompt).catch(showError);
          }
        });
        try {
          const params = { token: request, ...(provider !== undefined && { provider }) };
          return await this.#daemon.request('auth/signIn', params, stop.token);
        } finally {
          prompts.dispose();
        }
      },
    );
    showInformation(describeSignIn(account));
  }

  async signOut(named?: string): Promise<void> {
    const provider = named ?? (await this.#pickSignedIn());
    if (provider === undefined) {
      return;
    }
    this.isSigningOut = true;
    try {
      const account = await this.#daemon.request('auth/signOut', { provider });
      showInformation(describeSignOut(account));
    } finally {
      this.isSigningOut = false;
    }
  }

  /**
   * Copy the code, if there is one, and open the page. Both happen on the user's machine, even if this extension runs
   * elsewhere.
   */
  async #show({ userCode, verificationUri }: AuthPrompt): Promise<void> {
    if (userCode !== undefined) {
      await vscode.env.clipboard.writeText(userCode);
    }
    await vscode.env.openExternal(vscode.Uri.parse(verificationUri));
  }

  async #pickSignedIn(): Promise<string | undefined> {
    const { providers } = await this.#daemon.request('providers/list', {});
    const candidates = providers.filter(
      (each) => each.auth.login !== undefined || each.auth.state === 'signed_in',
    );
    if (candidates.length === 0) {
      showWarning(vscode.l10n.t('You are not signed in to any provider.'));
    }
    if (candidates.length < 2) {
      return candidates[0]?.id;
    }
    const row = (each: Provider): vscode.QuickPickItem & { id: string } => ({
      label: each.name,
      description: describeAccount(each),
      id: each.id,
    });
    return (await vscode.window.showQuickPick(candidates.map(row), { title: vscode.l10n.t('Sign out of') }))
      ?.id;
  }
}
