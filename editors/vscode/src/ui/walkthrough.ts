import type { Disposable } from 'vscode-jsonrpc/node';

import type { FactsReader } from './facts';
import { contextKey } from './messages';

/** Mark the steps of the walkthrough as done, by what the daemon says. */
export function watchSteps(facts: FactsReader): Disposable {
  const setReady = contextKey('jumpseat.isReady');
  const setProvider = contextKey('jumpseat.hasProvider');
  const update = (): void => {
    const { state, providers } = facts.current;
    setReady(state === 'ready');
    setProvider(providers.some((each) => each.configured));
  };
  update();
  return facts.onDidChange(update);
}
