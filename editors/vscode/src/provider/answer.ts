import { l10n } from 'vscode';

import { describeCutOff } from '../base/cutOff';
import type { Log } from '../base/log';
import type { ChatResult, Delta, Usage } from '../daemon/protocol';

/** Creates VS Code's parts. A method returns undefined if this version of VS Code does not have the part. */
export interface Parts<P> {
  text(text: string): P;
  thinking(text: string, id: string): P | undefined;
  thinkingEnd(): P | undefined;
  toolCall(id: string, name: string, input: object): P;
  /** A part with the token counts, which VS Code's own chat shows in its context meter. */
  usage(counts: UsageCounts): P;
}

interface UsageCounts {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

/** The stop reasons that the caller expects: its own limit, and a pause after which it asks again. */
const EXPECTED: ReadonlySet<string> = new Set(['max_tokens', 'pause_turn']);

/** Thrown if the caller would mistake an incomplete answer for a complete one. */
class Incomplete extends Error {}

/** Reports the deltas of one turn as parts: texts immediately, and tool calls when they are complete. */
export class Answer<P> {
  readonly #parts: Parts<P>;
  readonly #report: (part: P) => void;
  readonly #log: Log;
  readonly #id: string;
  #responses = 0;

  constructor(id: string, parts: Parts<P>, report: (part: P) => void, log: Log) {
    this.#id = id;
    this.#parts = parts;
    this.#report = report;
    this.#log = log;
  }

  readonly take = (delta: Delta): void => {
    switch (delta.type) {
      case 'response':
        this.#responses += 1;
        break;
      case 'text_delta':
        this.#send(this.#parts.text(delta.text));
        break;
      case 'thinking_delta':
        this.#send(this.#parts.thinking(delta.text, `${this.#id}-${this.#responses}-${delta.block}`));
        break;
      case 'thinking_done':
        this.#send(this.#parts.thinkingEnd());
        break;
      case 'tool_use_done': {
        const { id, name, arguments: input } = delta.content;
        if (input) {
          this.#send(this.#parts.toolCall(id, name, input));
        }
        break;
      }
      case 'retry':
        this.#log.info(`${delta.error.message} Attempt ${delta.attempt} of ${delta.maxAttempts} follows.`);
        break;
      case 'warning':
        this.#log.warn(`${delta.code}: ${delta.message}`);
        if (delta.code === 'answer_restarted') {
          // Parts that were reported cannot be taken back.
          this.#send(this.#parts.text('\n\n---\n\n'));
        }
        break;
      case 'done':
        if (delta.usage) {
          this.#send(this.#parts.usage(toCounts(delta.usage)));
        }
        break;
      default:
    }
  };

  #send(part: P | undefined): void {
    if (part !== undefined) {
      this.#report(part);
    }
  }
}

/**
 * Throw `Incomplete` if the caller would mistake an incomplete answer for a complete one: the caller sees the parts of an
 * answer, but not its stop reason.
 *
 * @param limited whether the caller itself limited the length of the answer
 */
export function checkWhole(result: ChatResult, limited: boolean): void {
  const unreadable = result.toolCalls.find((call) => call.arguments === null);
  const reason = describeCutOff(result.stopReason);
  if (result.stopReason === 'max_tokens' && !limited) {
    throw new Incomplete(
      l10n.t(
        "{0} To allow longer answers, raise `max_tokens` in jumpseat's configuration file.",
        reason ?? '',
      ),
    );
  }
  if (unreadable) {
    throw new Incomplete(
      unreadable.error
        ? l10n.t(
            'The model called the tool {0} with arguments that cannot be read: {1}',
            unreadable.name,
            unreadable.error,
          )
        : l10n.t('The model called the tool {0} with arguments that cannot be read.', unreadable.name),
    );
  }
  if (reason !== undefined && !EXPECTED.has(result.stopReason)) {
    throw new Incomplete(reason);
  }
  if (!result.text && !result.toolCalls.length && !limited) {
    const refused = result.warnings?.find(({ code }) => code === 'refusal');
    throw new Incomplete(
      refused?.message ??
        (result.stopReason === 'refusal'
          ? l10n.t('The model declined to answer.')
          : l10n.t('The model ended its answer without any text.')),
    );
  }
}

function toCounts(usage: Usage): UsageCounts {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
  };
}
