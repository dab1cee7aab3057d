import * as vscode from 'vscode';

import type { Launch } from '../daemon/process';

/** The program as the daemon is started with it. */
export type FindProgram = () => Promise<Launch>;

/** Run a command of the daemon's program in a terminal, where the person reads along. */
export async function runInTerminal(find: FindProgram, name: string, args: readonly string[]): Promise<void> {
  const { program } = await find();
  const execution = new vscode.ProcessExecution(program, [...args]);
  const task = new vscode.Task(
    { type: 'jumpseat' },
    vscode.TaskScope.Workspace,
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
