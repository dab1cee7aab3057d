import { EventEmitter, l10n, type Event } from 'vscode';
import type { CancellationToken, Disposable } from 'vscode-jsonrpc/node';

import type { Log } from '../base/log';
import type { Connection } from './connection';
import { asDaemonError, cancelled, createConnectionError, type DaemonError } from './errors';
import { start, type Child, type Exit, type Launch } from './process';
import type {
  Answers,
  Delta,
  InitializeParams,
  InitializeResult,
  Notifications,
  Requests,
  TurnMethod,
} from './protocol';
import { checkVersion } from './version';

export type State = 'stopped' | 'starting' | 'ready' | 'failed';

/** After more crashes than this within `CRASH_WINDOW_MS`, the process is not restarted automatically. */
const MAX_CRASHES = 5;
const CRASH_WINDOW_MS = 180_000;
const INITIALIZE_MS = 20_000;
/** The time after which a process that should end is killed if it is still running. */
const LEAVE_MS = 3000;
const TRY_AGAIN = l10n.t(
  'The command "jumpseat: Show Log" shows why, and "jumpseat: Restart Server" tries again.',
);

export interface DaemonOptions {
  /** Find or install the program. This is called for each start; `byUser` is true if `restart` was called. */
  launch(byUser: boolean): Promise<Launch>;
  initializeParams(): InitializeParams;
  /** The functions that answer the daemon's requests to this window; `initializeParams` must announce the requests. */
  answers?: Partial<Answers>;
  log: Log;
  /** The time limit for `initialize`. */
  initializeMs?: number;
}

/**
 * Thrown by a start that is obsolete. `#connect` catches the error. If `restart` has begun a newer start, `#connect`
 * waits for it. Otherwise it begins one.
 */
class Superseded extends Error {}

interface Session {
  connection: Connection;
  child: Child;
}

/**
 * This window's connection to the shared daemon: its `jumpseat attach` process, which the first request starts, and which is
 * restarted after a crash. The shared daemon is another process; to stop or restart this one does not end it.
 */
export class Daemon implements Disposable {
  readonly #options: DaemonOptions;
  readonly #stateChanged = new EventEmitter<State>();
  readonly #listeners = new Map<string, Set<(params: never) => void>>();
  #state: State = 'stopped';
  #attempt: Promise<Session> | undefined;
  #session: Session | undefined;
  /** The number of the newest start. Only the newest start may spawn a process or change the state. */
  #generation = 0;
  #crashes: number[] = [];
  #disposed = false;

  /** The daemon's answer to `initialize`; undefined unless the state is `ready`. */
  info: InitializeResult | undefined;
  /** The error that caused the state `failed`. */
  failure: DaemonError | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  get state(): State {
    return this.#state;
  }

  get onDidChangeState(): Event<State> {
    return this.#stateChanged.event;
  }

  /**
   * Whether the daemon is ready and supports this request.
   * Older daemons with the same protocol version lack some requests.
   */
  supports(method: keyof Requests): boolean {
    return this.info?.capabilities.experimental?.jumpseat?.methods.includes(method) ?? false;
  }

  onNotification<N extends keyof Notifications>(
    method: N,
    handler: (params: Notifications[N]) => void,
  ): Disposable {
    const handlers = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, handlers.add(handler));
    return { dispose: () => void handlers.delete(handler) };
  }

  /** Send a request. Rejects with a `DaemonError`. */
  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
    token?: CancellationToken,
  ): Promise<Requests[M]['result']> {
    return this.#runConnected(token, (connection) => connection.request(method, params, token));
  }

  /** Send a request. All its deltas arrive before the promise settles. Rejects with a `DaemonError`. */
  turn<M extends TurnMethod>(
    method: M,
    params: Requests[M]['params'],
    onDelta: (delta: Delta) => void,
    token?: CancellationToken,
  ): Promise<Requests[M]['result']> {
    return this.#runConnected(token, (connection) => connection.turn(method, params, onDelta, token));
  }

  /** End the process and start a new one, even after too many crashes. */
  async restart(): Promise<void> {
    this.#crashes = [];
    this.#end(l10n.t('jumpseat was restarted.'));
    this.#attempt = this.#start(++this.#generation, true);
    await this.#connect();
  }

  /** End the process. The next request starts a new one. */
  stop(): void {
    this.#end(l10n.t('jumpseat was stopped.'));
    this.#attempt = undefined;
    ++this.#generation;
    this.#change('stopped');
  }

  dispose(): void {
    this.#disposed = true;
    this.stop();
    this.#stateChanged.dispose();
    this.#listeners.clear();
  }

  async #runConnected<R>(
    token: CancellationToken | undefined,
    use: (connection: Connection) => Promise<R>,
  ): Promise<R> {
    let listener: Disposable | undefined;
    const cancellation = new Promise<never>((_, reject) => {
      listener = token?.onCancellationRequested(() => {
        reject(cancelled());
      });
    });
    // Nothing else handles the rejection if the token is cancelled before the race begins.
    cancellation.catch(() => undefined);
    try {
      if (token?.isCancellationRequested) {
        throw cancelled();
      }
      const { connection } = await Promise.race([this.#connect(), cancellation]);
      return await use(connection);
    } catch (error) {
      throw asDaemonError(error);
    } finally {
      listener?.dispose();
    }
  }

  async #connect(): Promise<Session> {
    for (;;) {
      if (this.#disposed) {
        throw createConnectionError(
          l10n.t('jumpseat was stopped.'),
          l10n.t('VS Code or the extension is shutting down.'),
        );
      }
      try {
        return await (this.#attempt ??= this.#start(++this.#generation));
      } catch (error) {
        if (!(error instanceof Superseded)) {
          throw error;
        }
      }
    }
  }

  async #start(generation: number, byUser = false): Promise<Session> {
    let session: Session | undefined;
    try {
      // Yield, so that the caller sets `#attempt` before listeners are called: a listener for the state `starting` that
      // sends a request would otherwise start a second process.
      await Promise.resolve();
      this.#checkCurrent(generation);
      if (!this.#canStart()) {
        throw (
          this.failure ??
          createConnectionError(l10n.t('jumpseat ended too often to be restarted automatically.'), TRY_AGAIN)
        );
      }
      this.#change('starting');
      const launch = await this.#options.launch(byUser);
      // The JSON-RPC library is a third of the bundle, so it is loaded only when a request needs it.
      const { Connection } = await import('./connection');
      this.#checkCurrent(generation);
      const { log } = this.#options;
      log.info(`Starting ${[launch.program, ...launch.args].join(' ')}`);
      const child = await start(launch, log);
      const connection = new Connection(child, log, this.#options.answers ?? {}, (method, params) => {
        this.#notify(method, params);
      });
      const started: Session = { child, connection };
      session = started;
      this.#session = started;
      void child.exit.then((exit) => {
        this.#handleExit(started, exit);
      });
      this.#checkCurrent(generation);
      const info = await this.#initialize(connection);
      this.#checkCurrent(generation);
      checkVersion(info, launch.program);
      connection.notifyInitialized();
      this.info = info;
      this.#change('ready');
      log.info(`jumpseat ${info.serverInfo.version} is ready.`);
      return session;
    } catch (error) {
      const superseded = generation !== this.#generation;
      if (session) {
        this.#leave(session, l10n.t('jumpseat could not be started.'));
      }
      if (superseded) {
        throw new Superseded();
      }
      const failure = asDaemonError(error);
      this.#attempt = undefined;
      this.#change('failed', failure);
      this.#options.log.error(failure.sentence);
      throw failure;
    }
  }

  async #initialize(connection: Connection): Promise<InitializeResult> {
    const limit = this.#options.initializeMs ?? INITIALIZE_MS;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(
          createConnectionError(
            l10n.t('jumpseat did not answer within {0} seconds.', Math.round(limit / 1000)),
            l10n.t('"jumpseat: Show Log" shows its log.'),
          ),
        );
      }, limit);
    });
    try {
      return await Promise.race([connection.initialize(this.#options.initializeParams()), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Handle the end of a process. The process has crashed unless `#leave` was called for its session. */
  #handleExit(session: Session, { code, signal }: Exit): void {
    const how = signal ?? l10n.t('code {0}', code ?? '?');
    this.#options.log.info(`jumpseat ended: ${how}`);
    if (this.#session !== session) {
      return;
    }
    this.#session = undefined;
    this.#crashes.push(Date.now());
    const ready = this.#state === 'ready';
    const canRestart = this.#canStart();
    const lost = createConnectionError(
      ready
        ? l10n.t('jumpseat ended unexpectedly ({0}).', how)
        : l10n.t('jumpseat ended with {0} before it was ready.', how),
      canRestart && ready ? l10n.t('It is being restarted.') : TRY_AGAIN,
    );
    session.connection.close(lost);
    if (ready) {
      this.info = undefined;
      this.#attempt = undefined;
      this.#options.log.error(lost.sentence);
      if (canRestart) {
        this.#attempt = this.#start(++this.#generation);
        this.#attempt.catch(() => undefined);
      } else {
        this.#change('failed', lost);
      }
    }
  }

  #canStart(): boolean {
    const now = Date.now();
    this.#crashes = this.#crashes.filter((at) => now - at < CRASH_WINDOW_MS);
    return this.#crashes.length <= MAX_CRASHES;
  }

  #checkCurrent(generation: number): void {
    if (generation !== this.#generation) {
      throw new Superseded();
    }
  }

  #end(reason: string): void {
    if (this.#session) {
      this.#leave(this.#session, reason);
    }
  }

  /** End a session that is no longer used. */
  #leave(session: Session, reason: string): void {
    if (this.#session === session) {
      this.#session = undefined;
      this.info = undefined;
    }
    const { connection, child } = session;
    void connection.leave().then(() => child.process.stdin.end());
    connection.close(createConnectionError(reason, l10n.t('Try again.')));
    const timer = setTimeout(() => child.process.kill('SIGKILL'), LEAVE_MS);
    void child.exit.then(() => {
      clearTimeout(timer);
    });
  }

  #notify(method: string, params: unknown): void {
    for (const handler of this.#listeners.get(method) ?? []) {
      handler(params as never);
    }
  }

  #change(state: State, failure?: DaemonError): void {
    this.failure = failure;
    if (this.#state !== state) {
      this.#state = state;
      this.#stateChanged.fire(state);
    }
  }
}
