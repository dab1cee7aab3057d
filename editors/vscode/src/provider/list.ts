import { isDeepStrictEqual } from 'node:util';

import type { Log } from '../base/log';
import { Code, DaemonError } from '../daemon/errors';
import type { ModelInfo, Requests } from '../daemon/protocol';
import type { Daemon } from '../daemon/supervisor';

/**
 * How long VS Code waits for the models. Without this limit, it would wait while the daemon is installed or started, and for
 * slow providers.
 */
const PATIENCE_MS = 1500;

/** One request for the lists of all providers. */
interface Reading {
  whole: Promise<void>;
  /** Whether to announce changes, because a caller received the list before this request finished, or called `check`. */
  announcesChanges: boolean;
}

/** The models of all providers, as last listed by the daemon. */
export class ModelList {
  readonly #daemon: Pick<Daemon, 'request'>;
  readonly #log: Log;
  readonly #onChange: () => void;
  readonly #patienceMs: number;
  /** The models by provider, in the daemon's order. */
  #models = new Map<string, ModelInfo[]>();
  /** The models that `waitForModels` last returned. */
  #lastReturned: ModelInfo[] = [];
  #reading: Reading | undefined;
  #settings = new Map<string, ReadonlySet<string>>();

  /** @param onChange called when the models differ from those that `waitForModels` last returned */
  constructor(daemon: Pick<Daemon, 'request'>, log: Log, onChange: () => void, patienceMs = PATIENCE_MS) {
    this.#daemon = daemon;
    this.#log = log;
    this.#onChange = onChange;
    this.#patienceMs = patienceMs;
  }

  /**
   * Return the models when all providers' lists have been received. At the time limit, return the models received so
   * far. Rejects if the daemon cannot be used.
   */
  async waitForModels(): Promise<ModelInfo[]> {
    const reading = (this.#reading ??= this.#read());
    let timer: NodeJS.Timeout | undefined;
    const timeLimit = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        reading.announcesChanges = true;
        resolve();
      }, this.#patienceMs);
    });
    try {
      await Promise.race([reading.whole, timeLimit]);
    } finally {
      clearTimeout(timer);
    }
    this.#lastReturned = this.#flatten();
    return this.#lastReturned;
  }

  /** Request the lists, and announce any change. The daemon fetches old and failed lists again. */
  check(): void {
    (this.#reading ??= this.#read()).announcesChanges = true;
  }

  /** Discard the reading in progress after a change of the lists, because it may miss that change. */
  invalidate(): void {
    this.#reading = undefined;
  }

  /** The default model, for chats that do not name one. */
  get default(): ModelInfo | undefined {
    return this.#flatten().find((model) => model.isDefault);
  }

  /** Return a model by its id, or the default model. Lists the models first if that model is not known yet. */
  async find(id: string | undefined): Promise<ModelInfo | undefined> {
    const find = (): ModelInfo | undefined =>
      id === undefined ? this.default : this.#flatten().find((model) => model.id === id);
    return find() ?? (await this.waitForModels().then(find));
  }

  /** Return the keys of the settings for a provider's chats. */
  settingsOf(provider: string | undefined): ReadonlySet<string> {
    return this.#settings.get(provider ?? '') ?? new Set();
  }

  #flatten(): ModelInfo[] {
    return [...this.#models.values()].flat();
  }

  #read(): Reading {
    const isCurrent = (): boolean => this.#reading === reading;
    const whole = this.#fetch(isCurrent).finally(() => {
      if (isCurrent()) {
        this.#reading = undefined;
      }
    });
    const reading: Reading = { whole, announcesChanges: false };
    whole.then(
      () => {
        if (reading.announcesChanges && !isDeepStrictEqual(this.#flatten(), this.#lastReturned)) {
          this.#onChange();
        }
      },
      (error: unknown) => {
        this.#log.debug(`The models cannot be listed: ${String(error)}`);
      },
    );
    return reading;
  }

  async #fetch(isCurrent: () => boolean): Promise<void> {
    const { providers } = await this.#daemon.request('providers/list', {});
    if (!isCurrent()) {
      return;
    }
    this.#settings = new Map(
      providers.map(({ id, settingsSchema }) => [id, new Set(settingsSchema.map(({ key }) => key))]),
    );
    this.#models = new Map(providers.map(({ id }) => [id, this.#models.get(id) ?? []]));
    await Promise.all(
      providers.map(async ({ id }) => {
        const { models, errors } = await this.#fetchModels(id);
        if (isCurrent()) {
          this.#models.set(id, models);
        }
        for (const { error } of errors) {
          this.#log.debug(`No models of ${id}: ${error.message}`);
        }
      }),
    );
  }

  async #fetchModels(provider: string): Promise<Requests['models/list']['result']> {
    try {
      return await this.#daemon.request('models/list', { provider });
    } catch (error) {
      if (error instanceof DaemonError && error.code === Code.request) {
        // The provider was removed from the configuration meanwhile.
        return { models: [], errors: [{ provider, error }] };
      }
      throw error;
    }
  }
}
