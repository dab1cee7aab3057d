import { EventEmitter, type Event } from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { AuthStatus, ModelInfo, Provider, WireError } from '../../daemon/protocol';
import type { Daemon, State } from '../../daemon/supervisor';

/** The daemon's state for the status bar: read when the daemon is ready, and again when it reports a change. */
export interface Facts {
  state: State;
  version?: string;
  /** Why the state is `failed`. */
  failure?: string;
  providers: Provider[];
  models: ModelInfo[];
  /** Why providers have no models, by provider id. */
  failures: ReadonlyMap<string, WireError>;
  /** The default model, for chats that do not name one. */
  model?: ModelInfo | undefined;
}

/** How long to wait for further changes before reading: a sign-in, for example, changes accounts, models and settings. */
const SETTLE_MS = 100;

export class FactsReader implements Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new EventEmitter<Facts>();
  readonly #subscriptions: Disposable[];
  #timer: NodeJS.Timeout | undefined;
  #reading = 0;
  #facts: Facts;

  readonly onDidChange: Event<Facts> = this.#changed.event;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#facts = { state: daemon.state, providers: [], models: [], failures: new Map() };
    const readSoon = (): void => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#read(), SETTLE_MS);
    };
    this.#subscriptions = [
      daemon.onDidChangeState(() => {
        this.#update({});
        if (daemon.state === 'ready') {
          readSoon();
        }
      }),
      daemon.onNotification('auth/didChange', (account) => {
        this.#applyAccount(account);
        readSoon();
      }),
      daemon.onNotification('providers/didChange', readSoon),
      daemon.onNotification('models/didChange', readSoon),
      daemon.onNotification('settings/didChange', readSoon),
    ];
    if (daemon.state === 'ready') {
      readSoon();
    }
  }

  get current(): Facts {
    return this.#facts;
  }

  /** Read the account after a turn, which used some of its quota. The daemon reports only important changes by itself. */
  async refreshAccount(provider: string): Promise<void> {
    this.#applyAccount(await this.#daemon.request('auth/status', { provider }));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#changed.dispose();
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  /** Apply an account's new state immediately: reading all providers again takes longer. */
  #applyAccount(account: AuthStatus): void {
    const providers = this.#facts.providers.map((each) =>
      each.id === account.provider ? { ...each, auth: account } : each,
    );
    this.#update({ providers });
  }

  /** Read accounts and models separately: one slow provider delays all models, but must not delay the accounts. */
  async #read(): Promise<void> {
    const reading = ++this.#reading;
    const apply = (change: Partial<Facts>): void => {
      if (reading === this.#reading) {
        this.#update(change);
      }
    };
    try {
      await Promise.all([
        this.#daemon.request('providers/list', {}).then(({ providers }) => {
          apply({ providers });
        }),
        this.#daemon.request('models/list', {}).then(({ models, errors }) => {
          const failures = new Map(errors.map(({ provider, error }) => [provider, error]));
          apply({ models, failures, model: models.find((each) => each.isDefault) });
        }),
      ]);
    } catch {
      // If the daemon has ended meanwhile, its next state shows that or triggers another reading.
    }
  }

  #update(change: Partial<Facts>): void {
    const { state, failure, info } = this.#daemon;
    this.#facts = {
      providers: this.#facts.providers,
      models: this.#facts.models,
      failures: this.#facts.failures,
      model: this.#facts.model,
      ...change,
      state,
      ...(failure && { failure: failure.sentence }),
      ...(info && { version: info.serverInfo.version }),
    };
    this.#changed.fire(this.#facts);
  }
}
