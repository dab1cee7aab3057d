import { EventEmitter, type Event } from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import { asDaemonError, type DaemonError } from '../../daemon/errors';

/** How long automatic completions stop after a temporary failure. The user can still ask for a completion. */
const REST_MS = 10_000;

/** The state of completions: for the status item, and to decide whether to request another completion. */
export class CompletionState implements Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly #now: () => number;
  #running = 0;
  #restsUntil = 0;

  readonly onDidChange: Event<void> = this.#changed.event;
  /** Why the last completion failed. */
  failure: DaemonError | undefined;
  /** The model that wrote the last completion, as `provider:model`. */
  model: string | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get isRunning(): boolean {
    return this.#running > 0;
  }

  /** Whether the last failure makes another request useless for now. */
  get isResting(): boolean {
    return this.failure !== undefined && this.#now() < this.#restsUntil;
  }

  /** Run a request, and record its model or its failure. Rejects with a `DaemonError`. */
  async run<R extends { provider: string; model: string }>(request: () => Promise<R>): Promise<R> {
    this.#running++;
    this.#changed.fire();
    try {
      const result = await request();
      this.model = `${result.provider}:${result.model}`;
      this.failure = undefined;
      return result;
    } catch (error) {
      const failure = asDaemonError(error);
      if (!failure.cancelled) {
        this.failure = failure;
        this.#restsUntil = failure.data.retryable ? this.#now() + REST_MS : Infinity;
      }
      throw failure;
    } finally {
      this.#running--;
      this.#changed.fire();
    }
  }

  /** Forget the last failure and the last model, because the settings or the models have changed. */
  forget(): void {
    this.failure = undefined;
    this.model = undefined;
    this.#changed.fire();
  }

  dispose(): void {
    this.#changed.dispose();
  }
}
