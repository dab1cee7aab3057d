import * as vscode from 'vscode';

import type { InitializeParams } from './daemon/protocol';

/** The daemon joins deltas of one chat that come within this time; VS Code itself shows parts every 30 ms. */
const COALESCE_MS = 16;

/** What the daemon learns of this window. */
export function initializeParams(): InitializeParams {
  const folders = vscode.workspace.workspaceFolders?.map(({ uri, name }) => ({ uri: uri.toString(), name }));
  return {
    processId: process.pid,
    rootUri: folders?.[0]?.uri ?? null,
    capabilities: {},
    clientInfo: { name: vscode.env.appName, version: vscode.version },
    workspaceFolders: folders ?? null,
    initializationOptions: { protocolVersions: [1], coalesceMs: COALESCE_MS },
  };
}
