import * as vscode from 'vscode';

import type { FactsReader } from '../common/facts';
import { showError } from '../common/messages';

/**
 * Mark a walkthrough step as done by setting its key to true for a moment. VS Code ignores the keys until it shows a page of
 * its welcome editor. A key that is already true by then would never mark its step in that window.
 */
async function completeStep(key: string): Promise<void> {
  await vscode.commands.executeCommand('setContext', key, true);
  await vscode.commands.executeCommand('setContext', key, false);
}

/** Mark steps of the walkthrough as done when the daemon is ready and when a provider is configured. */
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
      // This may be the welcome editor, for which the API has no tab input type. Mark earlier steps again for it.
      if (opened.some(({ input }) => input === undefined)) {
        completeSteps(done);
      }
    }),
  );
}
