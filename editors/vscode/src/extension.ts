import * as vscode from 'vscode';

import { Daemon } from './daemon/supervisor';
import { buildInitializeParams } from './editor';
import { Launcher } from './launcher';
import { ModelProvider, VENDOR } from './provider/provider';
import { registerUi } from './ui';
import { ANSWERS } from './workspace';

/** The settings whose change restarts the daemon. */
const RESTARTING_SETTINGS = [
  'jumpseat.path',
  'jumpseat.config',
  'jumpseat.logLevel',
  'http.proxy',
  'http.noProxy',
  'http.proxySupport',
];

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel('jumpseat', { log: true });
  const launcher = new Launcher(context, log);
  daemon = new Daemon({
    launch: (byUser) => launcher.launch(byUser),
    initializeParams: () => buildInitializeParams(context.extension),
    answers: ANSWERS,
    log,
  });
  const models = new ModelProvider(daemon, log);
  context.subscriptions.push(
    log,
    daemon,
    models,
    vscode.lm.registerLanguageModelChatProvider(VENDOR, models),
    ...registerUi(context, daemon, models, log, () => launcher.launch()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (RESTARTING_SETTINGS.some((name) => change.affectsConfiguration(name))) {
        daemon?.restart().catch(() => undefined);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      // The folder is now trusted, so its Python may be used to install the daemon.
      if (daemon?.state === 'failed') {
        daemon.restart().catch(() => undefined);
      }
    }),
  );
}

export function deactivate(): void {
  daemon?.dispose();
}
