import * as vscode from 'vscode';

import type { InitializeParams } from './daemon/protocol';

/** The daemon merges deltas of one chat that arrive within this time. VS Code itself renders parts every 30 ms. */
const COALESCE_MS = 16;

/** The commands of this extension that the daemon may name in hints. */
const IN_HINTS = {
  signIn: 'jumpseat.signIn',
  setKey: 'jumpseat.setKey',
  installLocal: 'jumpseat.installLocalModel',
  openConfiguration: 'jumpseat.openConfiguration',
  check: 'jumpseat.doctor',
};

/** A text of the manifest. A translated text is an object that also contains the original. */
type Translated = string | { value: string };

interface Manifest {
  contributes: { commands: { command: string; title: Translated; category: string }[] };
}

/** Return the commands for hints, with their names in the command palette. */
function listCommands({ contributes }: Manifest): Record<string, string> {
  const shown = new Map(
    contributes.commands.map(({ command, title, category }) => [
      command,
      `${category}: ${typeof title === 'string' ? title : title.value}`,
    ]),
  );
  return Object.fromEntries(Object.entries(IN_HINTS).map(([key, id]) => [key, shown.get(id) ?? id]));
}

/** Return this window's params for `initialize`. */
export function buildInitializeParams(extension: vscode.Extension<unknown>): InitializeParams {
  const folders = vscode.workspace.workspaceFolders?.map(({ uri, name }) => ({ uri: uri.toString(), name }));
  return {
    processId: process.pid,
    rootUri: folders?.[0]?.uri ?? null,
    capabilities: {
      workspace: { applyEdit: true },
      experimental: { jumpseat: { approveTools: true, unsaved: true } },
    },
    clientInfo: { name: vscode.env.appName, version: vscode.version },
    workspaceFolders: folders ?? null,
    initializationOptions: {
      protocolVersions: [1],
      coalesceMs: COALESCE_MS,
      commands: listCommands(extension.packageJSON as Manifest),
    },
  };
}
