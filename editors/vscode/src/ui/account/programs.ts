import { homedir } from 'node:os';
import * as vscode from 'vscode';

import { buildProxyVariables } from '../../base/proxy';
import { readProxySettings, readSettings } from '../../base/settings';
import { createSetUpError } from '../../daemon/errors';
import type { Launch } from '../../daemon/process';
import { buildConfigFlag } from '../../daemon/program';
import { run } from '../../daemon/run';
import type { Daemon } from '../../daemon/supervisor';
import { describeAccount } from '../common/words';

/** How long the program may take to print a path, even on a busy machine. */
const PATH_MS = 20_000;

/** Finds the program with which the daemon is started. */
export type FindProgram = () => Promise<Launch>;

/** Check the configuration that this window's daemon uses. */
export function runDoctor(find: FindProgram): Promise<void> {
  return runInTerminal(find, 'Doctor', ['doctor', ...buildConfigFlag(readSettings(), homedir())]);
}

/** Ask for a provider's key in a terminal, so that the key is neither displayed nor passed as an argument. */
export async function setKey(find: FindProgram, daemon: Daemon, named?: string): Promise<void> {
  const provider = named ?? (await pickKeyed(daemon));
  if (provider !== undefined) {
    const args = ['keys', 'set', ...buildConfigFlag(readSettings(), homedir()), '--', provider];
    await runInTerminal(find, `Set the API key of ${provider}`, args);
  }
}

/** Pick a provider with an API key, or enter another name: for a well-known service, the program adds the table. */
async function pickKeyed(daemon: Daemon): Promise<string | undefined> {
  const { providers } = await daemon.request('providers/list', {});
  const keyed = providers.filter((each) => each.authMethod === 'api_key');
  const other = { label: 'Other…', id: undefined };
  const rows = [
    ...keyed.map((each) => ({ label: each.name, description: describeAccount(each), id: each.id })),
    other,
  ];
  const chosen =
    keyed.length === 0 ? other : await vscode.window.showQuickPick(rows, { title: 'Set API Key' });
  if (chosen !== other) {
    return chosen?.id;
  }
  const prompt = 'The name of the provider, such as anthropic, groq or openai';
  const name = (await vscode.window.showInputBox({ title: 'Set API Key', prompt }))?.trim();
  return name === '' ? undefined : name;
}

/** Open the configuration file that this window's daemon reads. If it does not exist, saving creates it. */
export async function openConfiguration(find: FindProgram): Promise<void> {
  const { program, env } = await find();
  const args = ['config', 'path', ...buildConfigFlag(readSettings(), homedir())];
  const { code, lines } = await run(program, args, { env, timeoutMs: PATH_MS });
  const path = lines.at(-1);
  if (code !== 0 || path === undefined) {
    throw createSetUpError('The path of the configuration file could not be determined.', lines.join(' '));
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
  // The default directory is the workspace folder, and a window without one would fail.
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
