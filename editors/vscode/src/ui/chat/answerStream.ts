import * as vscode from 'vscode';

import { describeCutOff } from '../../base/cutOff';
import { formatNumber } from '../../base/formats';
import type { Block, ChatResult, Delta } from '../../daemon/protocol';
import { Calls, type EndedCall } from '../tools/calls';
import { FILES, resolvePath } from '../tools/selection';
import { Fold } from './fold';

/** Streams an answer into the chat view. */
export class AnswerStream {
  readonly #stream: vscode.ChatResponseStream;
  readonly #namesModel: boolean;
  readonly #fold = new Fold();
  readonly #calls = new Calls();
  readonly #references = new Set<string>();
  readonly #notices: string[] = [];
  /** Whether the answer contains text or a line about a call. */
  #written = false;
  provider: string | undefined;
  conversationId: string | undefined;

  /** @param namesModel whether to show the model's name above the answer */
  constructor(stream: vscode.ChatResponseStream, namesModel: boolean) {
    this.#stream = stream;
    this.#namesModel = namesModel;
  }

  content(): Block[] {
    return this.#fold.content();
  }

  add(delta: Delta): void {
    this.#fold.add(delta);
    const ended = this.#calls.add(delta);
    if (ended) {
      this.#showCall(ended);
    }
    switch (delta.type) {
      case 'start':
        this.provider = delta.provider;
        this.conversationId = delta.conversationId;
        if (this.#namesModel) {
          this.#stream.markdown(`\`${delta.provider}:${delta.model}\`\n\n`);
        }
        break;
      case 'retry': {
        const seconds = formatNumber(Math.round(delta.delayMs / 100) / 10);
        this.#stream.progress(
          vscode.l10n.t(
            'attempt {0} of {1} in {2} s: {3}',
            delta.attempt,
            delta.maxAttempts,
            seconds,
            delta.error.message,
          ),
        );
        break;
      }
      case 'response':
        if (this.#fold.restarted && this.#written) {
          this.#stream.markdown('\n\n---\n\n');
        }
        break;
      case 'thinking_start':
        this.#stream.progress(vscode.l10n.t('Thinking…'));
        break;
      case 'text_start':
        if (this.#written) {
          this.#stream.markdown('\n\n');
        }
        break;
      case 'text_delta':
        this.#written = true;
        this.#stream.markdown(delta.text);
        break;
      case 'tool_status':
        if (delta.status === 'running') {
          const running = vscode.l10n.t('Running {0}', this.#calls.describe(delta.toolUseId));
          this.#stream.progress(delta.message === undefined ? running : `${running}: ${delta.message}`);
        }
        break;
      case 'warning':
        this.#notices.push(delta.message);
        break;
      case 'citation':
        if (delta.url !== undefined) {
          this.#stream.reference(vscode.Uri.parse(delta.url));
        }
        break;
    }
  }

  close(result: ChatResult): void {
    const reason = describeCutOff(result.stopReason);
    if (reason !== undefined) {
      this.#notices.push(reason);
    }
    if (!this.#written && reason === undefined) {
      this.#notices.push(vscode.l10n.t('The model returned no text.'));
    }
    this.showNotices();
  }

  /** Show the line about a call that has ended, and list the file that it used. */
  #showCall({ line, name, arguments: { path }, isError }: EndedCall): void {
    this.#written = true;
    this.#stream.markdown(`\n\n${line}\n\n`);
    const file =
      name.startsWith(`${FILES}/`) && typeof path === 'string' && !isError ? resolvePath(path) : undefined;
    if (file && !this.#references.has(file.toString())) {
      this.#references.add(file.toString());
      this.#stream.reference(file);
    }
  }

  showNotices(): void {
    if (this.#notices.length > 0) {
      const lines = this.#notices.map((notice) => `> $(warning) ${notice}`);
      this.#stream.markdown(new vscode.MarkdownString(`\n\n${lines.join('\n>\n')}\n`, true));
    }
  }
}
