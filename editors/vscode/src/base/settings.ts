import * as vscode from 'vscode';

import type { ProxySettings } from './proxy';

export interface Settings {
  /** The program; empty for the one that is found. */
  path: string;
  /** The configuration file of the daemon; empty for its usual place. */
  config: string;
  logLevel: 'error' | 'warning' | 'info' | 'debug';
}

/** The user's settings. All of them have machine scope, so that no workspace can name a program or a file. */
export function settings(): Settings {
  const values = vscode.workspace.getConfiguration('jumpseat');
  return {
    path: values.get('path', ''),
    config: values.get('config', ''),
    logLevel: values.get('logLevel', 'warning'),
  };
}

/** VS Code's settings of the network. No workspace can set them either. */
export function proxySettings(): ProxySettings {
  const values = vscode.workspace.getConfiguration('http');
  return {
    proxy: values.get('proxy', ''),
    noProxy: values.get('noProxy', []),
    support: values.get('proxySupport', 'override'),
  };
}

/** Whether VS Code checks certificates; the daemon always does. */
export function checksCertificates(): boolean {
  return vscode.workspace.getConfiguration('http').get('proxyStrictSSL', true);
}

/** Whether the daemon keeps the conversations of this editor. */
export function keepsConversations(): boolean {
  return vscode.workspace.getConfiguration('jumpseat').get('keep', true);
}
