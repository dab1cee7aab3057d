import * as vscode from 'vscode';

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

/** Whether the daemon keeps the conversations of this editor. */
export function keepsConversations(): boolean {
  return vscode.workspace.getConfiguration('jumpseat').get('keep', true);
}
