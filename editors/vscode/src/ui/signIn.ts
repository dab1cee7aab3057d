import * as vscode from 'vscode';

import type { AuthStatus, Provider } from '../daemon/protocol';
import type { Daemon } from '../daemon/supervisor';
import { showInformation, showWarning, withCancel } from './messages';
import { accountLine } from './words';

/** Signing in and out of this window. */
export class Account {
  readonly #daemon: Daemon;
  /** The person is signing out here: no warning is needed. */
  isLeaving = false;
  #count = 0;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /** Sign in; the daemon chooses the provider if none is named. */
  async signIn(provider?: string): Promise<AuthStatus> {
    const request = `vscode-sign-in-${process.pid}-${++this.#count}`;
    const account = await withCancel('Signing in', async (token, report) => {
      const prompts = this.#daemon.onNotification('auth/prompt', (prompt) => {
        if (prompt.token === request) {
          report(
            `to ${prompt.provider}: enter the code ${prompt.userCode}, which was copied, at [${prompt.verificationUri}](${prompt.verificationUri})`,
          );
          void this.#show(prompt.userCode, prompt.verificationUri);
        }
      });
      try {
        const params = { token: request, ...(provider !== undefined && { provider }) };
        return await this.#daemon.request('auth/signIn', params, token);
      } finally {
        prompts.dispose();
      }
    });
    showInformation(
      `Signed in to ${account.provider}${account.login === undefined ? '' : ` as ${account.login}`}.`,
    );
    return account;
  }

  async signOut(named?: string): Promise<void> {
    const provider = named ?? (await this.#signedIn());
    if (provider === undefined) {
      return;
    }
    this.isLeaving = true;
    try {
      const account = await this.#daemon.request('auth/signOut', { provider });
      showInformation(`${account.provider}: ${account.state.replaceAll('_', ' ')}.`);
    } finally {
      this.isLeaving = false;
    }
  }

  /** Both act on the person's own machine, also when this extension runs on another one. */
  async #show(code: string, page: string): Promise<void> {
    await vscode.env.clipboard.writeText(code);
    await vscode.env.openExternal(vscode.Uri.parse(page));
  }

  async #signedIn(): Promise<string | undefined> {
    const { providers } = await this.#daemon.request('providers/list', {});
    const candidates = providers.filter(
      (each) => each.auth.login !== undefined || each.auth.state === 'signed_in',
    );
    if (candidates.length === 0) {
      showWarning('You are not signed in to a provider.');
    }
    if (candidates.length < 2) {
      return candidates[0]?.id;
    }
    const row = (each: Provider): vscode.QuickPickItem & { id: string } => ({
      label: each.name,
      description: accountLine(each),
      id: each.id,
    });
    return (await vscode.window.showQuickPick(candidates.map(row), { title: 'Sign out of' }))?.id;
  }
}
