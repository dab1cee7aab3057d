import * as vscode from 'vscode';

import type { Launch } from './daemon/process';
import { commandLine } from './daemon/program';
import { Daemon } from './daemon/supervisor';
import { initializeParams } from './editor';
import { ModelProvider, VENDOR } from './provider/provider';
import { settings } from './settings';
import { registerUi } from './ui';

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('jumpseat', { log: true });
  const launch = (): Promise<Launch> => {
    const chosen = settings();
    return Promise.resolve(commandLine(chosen.path || 'jumpseat', chosen, process.env, process.pid));
  };
  daemon = new Daemon({ launch, initializeParams, log });
  const models = new ModelProvider(daemon, log);
  context.subscriptions.push(
    log,
    daemon,
    models,
    vscode.lm.registerLanguageModelChatProvider(VENDOR, models),
    ...registerUi(context, daemon, log, launch),
  );
}

export function deactivate(): void {
  daemon?.dispose();
}
