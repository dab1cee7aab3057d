import { homedir } from 'node:os';
import * as vscode from 'vscode';

import { buildProxyVariables } from '../../base/proxy';
import { readProxySettings, readSettings } from '../../base/settings';
import { createSetUpError } from '../../daemon/errors';
import type { Launch } from '../../daemon/process';
import { buildConfigFlag } from '../../daemon/program';
import { run } from '../../daemon/run';

/** How long the program may take to print a path, even on a busy machine. */
const PATH_MS = 20_000;

/** Finds the program with which the daemon is started. */
export type FindProgram = () => Promise<Launch>;

/** Check the configuration that this window's daemon uses. */
export function runDoctor(find: FindProgram): Promise<void> {
  return runInTerminal(find, vscode.l10n.t('Doctor'), [
    'doctor',
    ...buildConfigFlag(readSettings(), homedir()),
  ]);
}

/** Open the configuration file that this window's daemon reads. If it does not exist, saving creates it. */
export async function openConfiguration(find: FindProgram): Promise<void> {
  const { program, env } = await find();
  const args = ['config', 'path', ...buildConfigFlag(readSettings(), homedir())];
  const { code, lines } = await run(program, args, { env, timeoutMs: PATH_MS });
  const path = lines.at(-1);
  if (code !== 0 || path === undefined) {
    throw createSetUpError(
      vscode.l10n.t('The path of the configuration file could not be determined.'),
      lines.join(' '),
    );
  }
  const file = vscode.Uri.file(path);
  const exists = await vscode.workspace.fs.stat(file).then(
    () => true,
    () => false,
  );
  await vscode.window.showTextDocument(exists ? file : file.with({ scheme: 'untitled' }));
}

/** Run a command of the daemon's program in a terminal, so that the user sees its output. */
export async function runInTerminal(find: FindProgram, name: string, args: readonly string[]): Promise<void> {
  const { program } = await find();
  // The default directory would be the workspace folder. Without a folder, the task would fail.
  const options = { cwd: homedir(), env: buildProxyVariables(readProxySettings()) };
  const execution = new vscode.ProcessExecution(program, [...args], options);
  const task = new vscode.Task(
    { type: 'jumpseat' },
    vscode.TaskScope.Global,
    name,
    'jumpseat',
    execution,
    [],
  );
  task.presentationOptions = {
    reveal: vscode.TaskRevealKind.Always,
    panel: vscode.TaskPanelKind.Dedicated,
    clear: true,
    showReuseMessage: false,
  };
  await vscode.tasks.executeTask(task);
}
