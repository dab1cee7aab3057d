import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import { describeCutOff } from '../../base/cutOff';
import { asDaemonError } from '../../daemon/errors';
import type { Daemon } from '../../daemon/supervisor';
import { runWithCancel, showWarning } from '../common/messages';
import { getPrompt } from '../input/prompts';
import { findRepository, findRepositoryOf, listRepositories, readChanges, type Repository } from './git';

/** The repositories whose commit message is being written. */
const writing = new Set<Repository>();

/**
 * Write a message for the staged changes, or for all changes if none are staged, into the input box of a repository.
 * `control` is the source control whose title bar contains the button that the user clicked.
 */
export async function writeCommitMessage(daemon: Daemon, control: unknown): Promise<void> {
  const repository = await chooseRepository(control);
  if (!repository || writing.has(repository)) {
    return;
  }
  const diff = await readChanges(repository);
  if (diff.trim() === '') {
    showWarning(vscode.l10n.t('There are no changes to describe. Stage new files first.'));
    return;
  }
  writing.add(repository);
  try {
    await runWithCancel(vscode.l10n.t('Writing a commit message'), (token) =>
      write(daemon, repository, diff, token),
    );
  } finally {
    writing.delete(repository);
  }
}

async function chooseRepository(control: unknown): Promise<Repository | undefined> {
  const repositories = await listRepositories();
  const { rootUri } = (control ?? {}) as { rootUri?: vscode.Uri };
  const file = vscode.window.activeTextEditor?.document.uri;
  const found = findRepository(repositories, rootUri) ?? findRepositoryOf(repositories, file);
  if (found || repositories.length < 2) {
    if (!found && !repositories[0]) {
      showWarning(vscode.l10n.t('Open a folder with a Git repository.'));
    }
    return found ?? repositories[0];
  }
  const rows = repositories.map((repository) => ({
    label: vscode.workspace.asRelativePath(repository.rootUri),
    repository,
  }));
  return (await vscode.window.showQuickPick(rows, { title: vscode.l10n.t('Repository') }))?.repository;
}

/** Stream the message into the input box. Restores the old text if the turn fails, and stops if the user types. */
async function write(
  daemon: Daemon,
  { inputBox }: Repository,
  diff: string,
  token: vscode.CancellationToken,
): Promise<void> {
  const before = inputBox.value;
  const stop = new vscode.CancellationTokenSource();
  token.onCancellationRequested(() => {
    stop.cancel();
  });
  let text = '';
  let shown = before;
  const show = (value: string): void => {
    if (inputBox.value === shown) {
      inputBox.value = shown = value;
    } else {
      stop.cancel();
    }
  };
  try {
    const prompt = await getPrompt(daemon, { name: 'commit', input: diff }, stop.token);
    const { model, system, settings } = prompt;
    const result = await daemon.turn(
      'chat/start',
      {
        messages: [{ role: 'user', content: prompt.text }],
        turnId: randomUUID(),
        ...(model !== undefined && { model }),
        ...(system !== undefined && { system }),
        ...(settings && { settings }),
      },
      (delta) => {
        if (delta.type === 'response') {
          text = '';
        } else if (delta.type === 'text_delta') {
          text += delta.text;
          show(text.trimStart());
        }
      },
      stop.token,
    );
    const message = result.text.trim();
    const problem = describeCutOff(result.stopReason);
    if (message === '' || problem !== undefined) {
      show(before);
      showWarning(problem ?? vscode.l10n.t('The model returned no message.'));
      return;
    }
    show(message);
    if (before.trim() !== '') {
      offerOldMessage(inputBox, before);
    }
  } catch (error) {
    show(before);
    if (!asDaemonError(error).cancelled || token.isCancellationRequested) {
      throw error;
    }
    showWarning(vscode.l10n.t('You changed the commit message, so writing it was stopped.'));
  } finally {
    stop.dispose();
  }
}

function offerOldMessage(inputBox: Repository['inputBox'], before: string): void {
  const restore = vscode.l10n.t('Restore');
  void vscode.window
    .showInformationMessage(vscode.l10n.t('The commit message was replaced.'), restore)
    .then((chosen) => {
      if (chosen === restore) {
        inputBox.value = before;
      }
    });
}
