import { homedir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';

import type { Log } from './base/log';
import { hasCredentials, buildProxyVariables } from './base/proxy';
import { checksCertificates, readProxySettings, readSettings } from './base/settings';
import { asDaemonError, type DaemonError } from './daemon/errors';
import { Installer } from './daemon/install';
import type { Launch } from './daemon/process';
import { buildCommandLine, findProgram, listSearchDirectories, type Found } from './daemon/program';
import { readShellEnvironment } from './daemon/shell';
import { findPythonInterpreters } from './python';

/** Finds the daemon's program, or installs it. */
export class Launcher {
  readonly #installer: Installer;
  readonly #log: Log;
  #shell: Promise<NodeJS.ProcessEnv | undefined> | undefined;
  #installing: Promise<string> | undefined;
  #failure: DaemonError | undefined;

  constructor(context: vscode.ExtensionContext, log: Log) {
    this.#log = log;
    this.#installer = new Installer({
      script: context.asAbsolutePath('dist/bootstrap.py'),
      storage: join(context.globalStorageUri.fsPath, 'daemon'),
      get env() {
        return { ...process.env, ...buildProxyVariables(readProxySettings()) };
      },
      directories: listSearchDirectories(process.env, homedir(), process.platform),
      platform: process.platform,
      pythons: findPythonInterpreters,
      log,
    });
  }

  /** Return the daemon's command line. A failed or cancelled installation is retried only if `byUser` is set. */
  async launch(byUser = false): Promise<Launch> {
    if (byUser) {
      this.#failure = undefined;
    }
    const chosen = readSettings();
    const found = await findProgram(chosen.path, {
      env: process.env,
      home: homedir(),
      platform: process.platform,
      shell: () => (this.#shell ??= readShellEnvironment(process.env)),
      installed: () => this.#installer.findInstalled(),
    });
    this.#reportLimits();
    const { program, env } = found ?? (await this.#installOrFindOlder());
    const withProxy = { program, env: { ...env, ...buildProxyVariables(readProxySettings()) } };
    return buildCommandLine(withProxy, chosen, homedir(), process.pid);
  }

  /** Log which of VS Code's network settings cannot be passed on. */
  #reportLimits(): void {
    if (hasCredentials(readProxySettings().proxy)) {
      this.#log.warn(
        'The user and password of the setting http.proxy are not passed on. ' +
          "Set proxy in the provider's table of the configuration file.",
      );
    }
    if (!checksCertificates()) {
      this.#log.warn(
        'The setting http.proxyStrictSSL does not apply, because jumpseat always checks certificates. ' +
          "Set ca_file in the provider's table of the configuration file.",
      );
    }
  }

  async #installOrFindOlder(): Promise<Found> {
    if (this.#failure) {
      throw this.#failure;
    }
    try {
      const program = await (this.#installing ??= this.#install());
      return { program, env: process.env };
    } catch (error) {
      this.#failure = asDaemonError(error);
      const older = await this.#installer.findOlder();
      if (!older) {
        throw this.#failure;
      }
      this.#log.error(this.#failure.sentence);
      this.#log.warn('The previous version is used.');
      return { program: older, env: process.env };
    } finally {
      this.#installing = undefined;
    }
  }

  async #install(): Promise<string> {
    return await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t('Installing jumpseat'),
        cancellable: true,
      },
      (progress, token) => {
        const abort = new AbortController();
        token.onCancellationRequested(() => {
          abort.abort();
        });
        return this.#installer.install((message) => {
          progress.report({ message });
        }, abort.signal);
      },
    );
  }
}
