import * as vscode from 'vscode';

import { commandLine } from './daemon/program';
import { Daemon } from './daemon/supervisor';
import { initializeParams } from './editor';
import { ModelProvider, VENDOR } from './provider/provider';
import { settings } from './settings';

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('jumpseat', { log: true });
  daemon = new Daemon({
    launch: () => {
      const chosen = settings();
      return Promise.resolve(commandLine(chosen.path || 'jumpseat', chosen, process.env, process.pid));
    },
    initializeParams,
    log,
  });
  const models = new ModelProvider(daemon, log);
  context.subscriptions.push(
    log,
    daemon,
    models,
    vscode.lm.registerLanguageModelChatProvider(VENDOR, models),
  );
}

export function deactivate(): void {
  daemon?.dispose();
}
