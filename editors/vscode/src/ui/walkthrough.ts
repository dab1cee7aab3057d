import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { FactsReader } from './facts';

/** Mark the steps of the walkthrough as done, by what the daemon says. */
export function watchSteps(facts: FactsReader): Disposable {
  const update = (): void => {
    const { state, providers } = facts.current;
    void vscode.commands.executeCommand('setContext', 'jumpseat.isReady', state === 'ready');
    void vscode.commands.executeCommand(
      'setContext',
      'jumpseat.hasProvider',
      providers.some((each) => each.configured),
    );
  };
  update();
  return facts.onDidChange(update);
}
