import * as vscode from 'vscode';

import type { Daemon } from '../../daemon/supervisor';
import { waitForPause } from './pause';
import { isWithinWord, splitAt } from './place';
import { onDidChangeCompletionSettings, readCompletionSettings } from './settings';
import type { CompletionState } from './state';

/** How long a pause in the user's typing must last before a completion is requested. */
const PAUSE_MS = 250;

/** The schemes of texts that a person writes, as opposed to output, the chat's input and this extension's own documents. */
const SCHEMES = ['file', 'untitled', 'vscode-notebook-cell'];

/** Requests completions at the cursor while the user types. */
export class InlineCompletions implements vscode.InlineCompletionItemProvider {
  readonly #daemon: Daemon;
  readonly #state: CompletionState;

  constructor(daemon: Daemon, state: CompletionState) {
    this.#daemon = daemon;
    this.#state = state;
  }

  register(): vscode.Disposable {
    const forget = (): void => {
      this.#state.forget();
    };
    const selector = SCHEMES.map((scheme) => ({ scheme }));
    return vscode.Disposable.from(
      vscode.languages.registerInlineCompletionItemProvider(selector, this),
      onDidChangeCompletionSettings(forget),
      this.#daemon.onNotification('models/didChange', forget),
      this.#daemon.onNotification('providers/didChange', forget),
    );
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[]> {
    const { enabled, model, extent } = readCompletionSettings(document);
    const isInvoked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
    if (!enabled || (!isInvoked && this.#state.isResting)) {
      return [];
    }
    const text = document.getText();
    const offset = document.offsetAt(position);
    if (!isInvoked && (isWithinWord(text, offset) || !(await waitForPause(PAUSE_MS, token)))) {
      return [];
    }
    // If a row of the list of suggestions is selected, VS Code shows only texts that continue it.
    const { range = new vscode.Range(position, position), text: selected = '' } =
      context.selectedCompletionInfo ?? {};
    const { prefix, ...place } = splitAt(text, offset, extent);
    const before = prefix.slice(0, prefix.length - (offset - document.offsetAt(range.start)));
    try {
      const completion = await this.#state.run(() =>
        this.#daemon.request(
          'complete/start',
          {
            prefix: before + selected,
            ...place,
            ...(model !== '' && { model }),
            languageId: document.languageId,
            ...(document.uri.scheme === 'file' && { uri: document.uri.toString() }),
          },
          token,
        ),
      );
      return completion.text === ''
        ? []
        : [new vscode.InlineCompletionItem(selected + completion.text, range)];
    } catch {
      // The status item shows the failure. A notification at each pause would disturb.
      return [];
    }
  }
}
