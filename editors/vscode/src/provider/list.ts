import { Code, DaemonError } from '../daemon/errors';
import type { ModelInfo, Requests } from '../daemon/protocol';
import type { Daemon } from '../daemon/supervisor';
import type { Log } from '../log';

/** How long VS Code's list waits for slow providers: theirs are added when they come. */
const PATIENCE_MS = 1500;

interface Request {
  /** Provider by provider, in the daemon's order. */
  models: Map<string, ModelInfo[]>;
  whole: Promise<void>;
  done: boolean;
}

/**
 * The models of all providers, requested once until `forget`. VS Code asks several times at its start, and one provider
 * that cannot be reached must not hide the others for the ten seconds of its time limit.
 */
export class ModelList {
  readonly #daemon: Pick<Daemon, 'request'>;
  readonly #log: Log;
  readonly #late: () => void;
  readonly #patienceMs: number;
  #request: Promise<Request> | undefined;
  #settings = new Map<string, ReadonlySet<string>>();

  /** @param late called when models have come after `models` was answered without them */
  constructor(daemon: Pick<Daemon, 'request'>, log: Log, late: () => void, patienceMs = PATIENCE_MS) {
    this.#daemon = daemon;
    this.#log = log;
    this.#late = late;
    this.#patienceMs = patienceMs;
  }

  /** The models that are known by now. Rejects if the daemon cannot be used. */
  async models(): Promise<ModelInfo[]> {
    const asked = (this.#request ??= this.#ask());
    try {
      const request = await asked;
      let timer: NodeJS.Timeout | undefined;
      const enough = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, this.#patienceMs);
      });
      await Promise.race([request.whole, enough]);
      clearTimeout(timer);
      if (!request.done) {
        void request.whole.then(this.#late, () => undefined);
      }
      return [...request.models.values()].flat();
    } catch (error) {
      if (this.#request === asked) {
        this.#request = undefined;
      }
      throw error;
    }
  }

  /** Request the list again when it is needed. */
  forget(): void {
    this.#request = undefined;
  }

  /** The keys of the settings of a provider's chats. */
  settingsOf(provider: string): ReadonlySet<string> {
    return this.#settings.get(provider) ?? new Set();
  }

  async #ask(): Promise<Request> {
    const { providers } = await this.#daemon.request('providers/list', {});
    this.#settings = new Map(
      providers.map(({ id, settingsSchema }) => [id, new Set(settingsSchema.map(({ key }) => key))]),
    );
    const models = new Map<string, ModelInfo[]>(providers.map(({ id }) => [id, []]));
    const whole = Promise.all(
      providers.map(async ({ id }) => {
        const listed = await this.#of(id);
        models.set(id, listed.models);
        for (const { error } of listed.errors) {
          this.#log.debug(`No models of ${id}: ${error.message}`);
        }
      }),
    ).then(() => {
      request.done = true;
    });
    const request: Request = { models, whole, done: false };
    return request;
  }

  async #of(provider: string): Promise<Requests['models/list']['result']> {
    try {
      return await this.#daemon.request('models/list', { provider });
    } catch (error) {
      if (error instanceof DaemonError && error.code === Code.request) {
        // The configuration has lost this provider in the meantime.
        return { models: [], errors: [{ provider, error }] };
      }
      throw error;
    }
  }
}
