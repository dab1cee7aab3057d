import { EventEmitter, l10n, type Event } from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import { formatMoney, formatNumber } from '../../base/formats';
import type { Usage } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';

const DOT = ' · ';

const NONE = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
  reasoningTokens: 0,
};

/** Format the tokens and the cost of an answer in one line. Returns an empty text if neither was reported. */
export function formatUsage(usage: Usage | undefined): string {
  if (!usage) {
    return '';
  }
  const { cost } = usage;
  return [...formatTokens(usage), ...(cost ? [formatMoney(cost.amount, cost.currency)] : [])].join(DOT);
}

function formatTokens({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  reasoningTokens = 0,
}: Omit<Usage, 'cost'>): string[] {
  if (inputTokens === 0 && outputTokens === 0) {
    return [];
  }
  const add = (tokens: number, what: string): string =>
    tokens > 0 ? ` (${formatNumber(tokens)} ${what})` : '';
  return [
    l10n.t('{0} tokens in', formatNumber(inputTokens)) + add(cacheReadTokens, l10n.t('cached')),
    l10n.t('{0} out', formatNumber(outputTokens)) + add(reasoningTokens, l10n.t('thinking')),
  ];
}

/** The tokens and the cost of all answers since the window was opened, whichever part of VS Code requested them. */
export class SessionUsage implements Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly #subscription: Disposable;
  readonly #costs = new Map<string, number>();
  readonly #tokens = { ...NONE };
  #answers = 0;

  readonly onDidChange: Event<void> = this.#changed.event;

  constructor(daemon: Pick<Daemon, 'onNotification'>) {
    this.#subscription = daemon.onNotification('chat/delta', ({ delta }) => {
      if (delta.type === 'done' && delta.usage) {
        this.#add(delta.usage);
      }
    });
  }

  /** Describe the usage in one line. Returns an empty text before the first answer. */
  describe(): string {
    if (this.#answers === 0) {
      return '';
    }
    const answers =
      this.#answers === 1 ? l10n.t('1 answer') : l10n.t('{0} answers', formatNumber(this.#answers));
    const costs = [...this.#costs].map(([currency, amount]) => formatMoney(amount, currency));
    return [answers, ...formatTokens(this.#tokens), ...costs].join(DOT);
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#changed.dispose();
  }

  #add({ cost, ...tokens }: Usage): void {
    this.#answers += 1;
    for (const key of Object.keys(this.#tokens) as (keyof typeof NONE)[]) {
      this.#tokens[key] += tokens[key] ?? 0;
    }
    if (cost) {
      this.#costs.set(cost.currency, (this.#costs.get(cost.currency) ?? 0) + cost.amount);
    }
    this.#changed.fire();
  }
}
