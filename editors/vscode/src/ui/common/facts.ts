import { Emitter, type Disposable, type Event } from 'vscode-jsonrpc/node';

import type { AuthStatus, ModelInfo, Provider, WireError } from '../../daemon/protocol';
import type { Daemon, State } from '../../daemon/supervisor';

/** What the daemon says of itself, for the status bar: read when it is ready, and again when it says that it changed. */
export interface Facts {
  state: State;
  version?: string;
  /** Why the state is `failed`. */
  failure?: string;
  providers: Provider[];
  models: ModelInfo[];
  /** Why a provider has no models, by its id. */
  failures: ReadonlyMap<string, WireError>;
  /** The model of a chat that names none. */
  model?: ModelInfo | undefined;
}

/** Changes come in groups: a sign-in changes accounts, models and settings. */
const SETTLE_MS = 100;

export class FactsReader implements Disposable {
  readonly #daemon: Daemon;
  readonly #changed = new Emitter<Facts>();
  readonly #subscriptions: Disposable[];
  #timer: NodeJS.Timeout | undefined;
  #reading = 0;
  #facts: Facts;

  readonly onDidChange: Event<Facts> = this.#changed.event;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#facts = { state: daemon.state, providers: [], models: [], failures: new Map() };
    const again = (): void => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#read(), SETTLE_MS);
    };
    this.#subscriptions = [
      daemon.onDidChangeState(() => {
        this.#update({});
        if (daemon.state === 'ready') {
          again();
        }
      }),
      daemon.onNotification('auth/didChange', (account) => {
        this.#put(account);
        again();
      }),
      daemon.onNotification('providers/didChange', again),
      daemon.onNotification('models/didChange', again),
      daemon.onNotification('settings/didChange', again),
    ];
    if (daemon.state === 'ready') {
      again();
    }
  }

  get current(): Facts {
    return this.#facts;
  }

  /** The quota after a turn; the daemon notifies only of the important changes. */
  async refreshAccount(provider: string): Promise<void> {
    this.#put(await this.#daemon.request('auth/status', { provider }));
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#changed.dispose();
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  /** The notification has the new state, before the list is read again. */
  #put(account: AuthStatus): void {
    const providers = this.#facts.providers.map((each) =>
      each.id === account.provider ? { ...each, auth: account } : each,
    );
    this.#update({ providers });
  }

  /** The models come from the providers, one of which may be slow: the accounts do not wait for them. */
  async #read(): Promise<void> {
    const reading = ++this.#reading;
    const show = (change: Partial<Facts>): void => {
      if (reading === this.#reading) {
        this.#update(change);
      }
    };
    try {
      await Promise.all([
        this.#daemon.request('providers/list', {}).then(({ providers }) => {
          show({ providers });
        }),
        this.#daemon.request('models/list', {}).then(({ models, errors }) => {
          const failures = new Map(errors.map(({ provider, error }) => [provider, error]));
          show({ models, failures, model: models.find((each) => each.isDefault) });
        }),
      ]);
    } catch {
      // The daemon ended meanwhile: its next state says so, or starts another reading.
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
