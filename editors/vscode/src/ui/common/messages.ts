import * as vscode from 'vscode';

import { asDaemonError, type DaemonError } from '../../daemon/errors';
import type { Daemon } from '../../daemon/supervisor';
import { findActions, type Action } from './problems';

async function runChosen(choice: Thenable<string | undefined>, actions: readonly Action[]): Promise<void> {
  const title = await choice;
  const action = actions.find((each) => each.title === title);
  if (action) {
    await vscode.commands.executeCommand(action.command, ...(action.arguments ?? []));
  }
}

/** The errors that the user has seen. The error that ended a turn can also be the reason why the daemon is not running. */
const seen = new WeakSet<DaemonError>();

/** Mark an error as shown elsewhere, such as in a chat. */
export function markShown(failure: DaemonError): void {
  seen.add(failure);
}

/** Show an error with its hint and the possible actions. Cancellations are not shown. */
export function showError(error: unknown): void {
  const failure = asDaemonError(error);
  if (failure.cancelled) {
    return;
  }
  seen.add(failure);
  const actions = findActions(failure);
  const titles = actions.map((each) => each.title);
  void runChosen(vscode.window.showErrorMessage(failure.sentence, ...titles), actions);
}

export function showWarning(text: string, ...actions: Action[]): void {
  void runChosen(vscode.window.showWarningMessage(text, ...actions.map((each) => each.title)), actions);
}

export function showInformation(text: string, ...actions: Action[]): void {
  void runChosen(vscode.window.showInformationMessage(text, ...actions.map((each) => each.title)), actions);
}

/** Show for a moment which rule files the model has received. */
export function showRules(files: readonly string[] | undefined): void {
  if (files?.length) {
    vscode.window.setStatusBarMessage(vscode.l10n.t('Rules: {0}', files.join(', ')), 5000);
  }
}

/** Register a command that shows its errors. */
export function registerCommand(id: string, run: (...args: never[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(id, async (...args: never[]) => {
    try {
      await run(...args);
    } catch (error) {
      showError(error);
    }
  });
}

/** Run a slow step, and show its progress in the status bar. */
export function runWithStatus<R>(
  title: string,
  run: (report: (message: string) => void) => Thenable<R>,
): Thenable<R> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, (progress) =>
    run((message) => {
      progress.report({ message });
    }),
  );
}

/** Run a slow step with a notification that offers to cancel it. */
export function runWithCancel<R>(
  title: string,
  run: (token: vscode.CancellationToken, report: (message: string) => void) => Thenable<R>,
): Thenable<R> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, (progress, token) =>
    run(token, (message) => {
      progress.report({ message });
    }),
  );
}

/**
 * Create a setter for a key of `when` clauses. The setter skips unchanged values, because VS Code evaluates all clauses
 * after each `setContext`.
 */
export function createContextSetter(name: string): (value: string | boolean | undefined) => void {
  let last: unknown;
  return (value) => {
    if (value !== last) {
      last = value;
      void vscode.commands.executeCommand('setContext', name, value);
    }
  };
}

/**
 * Show why the daemon cannot be started, once for each reason. Otherwise, the user would see only VS Code's own answer to
 * each question, "Language model unavailable".
 */
export function watchFailures(daemon: Daemon): { dispose(): void } {
  let shown: string | undefined;
  return daemon.onDidChangeState((state) => {
    if (state === 'ready') {
      shown = undefined;
    } else if (state === 'failed' && daemon.failure && daemon.failure.sentence !== shown) {
      shown = daemon.failure.sentence;
      const { failure } = daemon;
      // If this failure also ends a turn, wait until the turn has shown it.
      setImmediate(() => {
        if (!seen.has(failure)) {
          showError(failure);
        }
      });
    }
  });
}

/** Show the messages that the daemon sends unasked, such as mistakes in the configuration. */
export function watchMessages(daemon: Daemon): { dispose(): void } {
  return daemon.onNotification('window/showMessage', ({ type, message }) => {
    const show = [vscode.window.showErrorMessage, vscode.window.showWarningMessage][type - 1];
    void (show ?? vscode.window.showInformationMessage)(message);
  });
}
