import * as vscode from 'vscode';

import type { FactsReader } from '../common/facts';
import { showError } from '../common/messages';

/**
 * Mark a step of the walkthrough as done. VS Code first reads the steps when it shows a page of its welcome editor. A key
 * that is true then never marks its step in that window, so each key is true for a moment only.
 */
async function mark(key: string): Promise<void> {
  await vscode.commands.executeCommand('setContext', key, true);
  await vscode.commands.executeCommand('setContext', key, false);
}

/** Mark the steps of the walkthrough as done, by what the daemon says. */
export function watchSteps(facts: FactsReader): vscode.Disposable {
  let done: string[] = [];
  const markDone = (keys: string[]): void => {
    Promise.all(keys.map(mark)).catch(showError);
  };
  const update = (): void => {
    const { state, providers } = facts.current;
    const before = done;
    done = [
      ...(state === 'ready' ? ['jumpseat.isReady'] : []),
      ...(providers.some((each) => each.configured) ? ['jumpseat.hasProvider'] : []),
    ];
    markDone(done.filter((key) => !before.includes(key)));
  };
  update();
  return vscode.Disposable.from(
    facts.onDidChange(update),
    vscode.window.tabGroups.onDidChangeTabs(({ opened }) => {
      // The types have no input for the welcome editor.
      if (opened.some(({ input }) => input === undefined)) {
        markDone(done);
      }
    }),
  );
}
