import * as vscode from 'vscode';

import type { FactsReader } from '../common/facts';
import { showError } from '../common/messages';

/**
 * Mark a walkthrough step as done. VS Code first reads the steps when it shows a page of its welcome editor. A key that is
 * already true at that time never marks its step in that window, so each key is true only for a moment.
 */
async function completeStep(key: string): Promise<void> {
  await vscode.commands.executeCommand('setContext', key, true);
  await vscode.commands.executeCommand('setContext', key, false);
}

/** Mark the steps of the walkthrough as done when the daemon reports them. */
export function watchSteps(facts: FactsReader): vscode.Disposable {
  let done: string[] = [];
  const completeSteps = (keys: string[]): void => {
    Promise.all(keys.map(completeStep)).catch(showError);
  };
  const update = (): void => {
    const { state, providers } = facts.current;
    const before = done;
    done = [
      ...(state === 'ready' ? ['jumpseat.isReady'] : []),
      ...(providers.some((each) => each.configured) ? ['jumpseat.hasProvider'] : []),
    ];
    completeSteps(done.filter((key) => !before.includes(key)));
  };
  update();
  return vscode.Disposable.from(
    facts.onDidChange(update),
    vscode.window.tabGroups.onDidChangeTabs(({ opened }) => {
      // The API has no tab input type for the welcome editor.
      if (opened.some(({ input }) => input === undefined)) {
        completeSteps(done);
      }
    }),
  );
}
