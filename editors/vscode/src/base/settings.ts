import * as vscode from 'vscode';

import type { ProxySettings } from './proxy';

export interface Settings {
  /** The program. If this is empty, the extension finds one. */
  path: string;
  /** The daemon's configuration file. If this is empty, the daemon uses its default location. */
  config: string;
  logLevel: 'error' | 'warning' | 'info' | 'debug';
}

/** Read the user's settings. All have machine scope, so that no workspace can choose a program or a file. */
export function readSettings(): Settings {
  const values = vscode.workspace.getConfiguration('jumpseat');
  return {
    path: values.get('path', ''),
    config: values.get('config', ''),
    logLevel: values.get('logLevel', 'warning'),
  };
}

/** Read VS Code's network settings. Workspaces cannot set these either. */
export function readProxySettings(): ProxySettings {
  const values = vscode.workspace.getConfiguration('http');
  return {
    proxy: values.get('proxy', ''),
    noProxy: values.get('noProxy', []),
    support: values.get('proxySupport', 'override'),
  };
}

/** Whether VS Code checks certificates. The daemon always does. */
export function checksCertificates(): boolean {
  return vscode.workspace.getConfiguration('http').get('proxyStrictSSL', true);
}

/**
 * Return the param that adds the rules of the workspace, if the user has enabled the rules and trusts the workspace.
 * Chats in the chat view do not need this param, because VS Code itself attaches the files with the rules there.
 */
export function rulesParams(): { workspaceRules?: true } {
  const isOn = vscode.workspace.getConfiguration('jumpseat').get<boolean>('workspaceRules', false);
  return isOn && vscode.workspace.isTrusted ? { workspaceRules: true } : {};
}

/** Whether the daemon keeps the conversations of this editor. */
export function keepsConversations(): boolean {
  return vscode.workspace.getConfiguration('jumpseat').get('keep', true);
}
