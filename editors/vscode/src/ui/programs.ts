import { homedir } from 'node:os';
import * as vscode from 'vscode';

import type { Launch } from '../daemon/process';
import { configFlag } from '../daemon/program';
import { settings } from '../settings';

/** The program as the daemon is started with it. */
export type FindProgram = () => Promise<Launch>;

/** Check the configuration that the daemon of this window has. */
export function runDoctor(find: FindProgram): Promise<void> {
  return runInTerminal(find, 'Doctor', ['doctor', ...configFlag(settings(), homedir())]);
}

/** Run a command of the daemon's program in a terminal, where the person reads along. */
export async function runInTerminal(find: FindProgram, name: string, args: readonly string[]): Promise<void> {
  const { program } = await find();
  // The default is the folder of the workspace, and a window without one would fail.
  const execution = new vscode.ProcessExecution(program, [...args], { cwd: homedir() });
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
