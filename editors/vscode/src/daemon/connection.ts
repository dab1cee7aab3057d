import { randomUUID } from 'node:crypto';
import {
  createMessageConnection,
  ErrorCodes,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  type CancellationToken,
  type MessageConnection,
} from 'vscode-jsonrpc/node';

import type { Log } from '../base/log';
import { cancelled, DaemonError } from './errors';
import type { Child } from './process';
import type {
  Answers,
  Delta,
  ErrorData,
  InitializeParams,
  InitializeResult,
  Requests,
  TurnMethod,
} from './protocol';

/** The connection to one process. `close` rejects pending requests with the reason that it is given. */
export class Connection {
  readonly #rpc: MessageConnection;
  readonly #turns = new Map<string, (delta: Delta) => void>();
  #closed: DaemonError | undefined;

  constructor(
    child: Child,
    log: Log,
    answers: Partial<Answers>,
    onNotification: (method: string, params: unknown) => void,
  ) {
    this.#rpc = createMessageConnection(
      new StreamMessageReader(child.process.stdout),
      new StreamMessageWriter(child.process.stdin),
      {
        error: log.error.bind(log),
        warn: log.warn.bind(log),
        info: log.info.bind(log),
        log: log.info.bind(log),
      },
    );
    this.#rpc.onError(([error]) => {
      log.error(`jumpseat: ${error.message}`);
    });
    this.#rpc.onNotification((method: string, params: unknown) => {
      if (method === 'chat/delta') {
        const { turnId, delta } = params as { turnId: string; delta: Delta };
        this.#turns.get(turnId)?.(delta);
      }
      onNotification(method, params);
    });
    this.#rpc.onRequest((method: string, params: unknown) => {
      const answer = (answers as Record<string, ((params: unknown) => unknown) | undefined>)[method];
      return answer
        ? answer(params)
        : // eslint-disable-next-line no-restricted-syntax -- The daemon reads this.
          new ResponseError(ErrorCodes.MethodNotFound, `This editor has no ${method}.`);
    });
    this.#rpc.listen();
  }

  initialize(params: InitializeParams): Promise<InitializeResult> {
    return this.#send('initialize', params);
  }

  notifyInitialized(): void {
    void this.#rpc.sendNotification('initialized', {});
  }

  request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
    token?: CancellationToken,
  ): Promise<Requests[M]['result']> {
    return this.#send(method, params, token);
  }

  /** Run a turn. All deltas are passed to `onDelta` before the promise settles. */
  async turn<M extends TurnMethod>(
    method: M,
    params: Requests[M]['params'],
    onDelta: (delta: Delta) => void,
    token?: CancellationToken,
  ): Promise<Requests[M]['result']> {
    const turnId = params.turnId ?? randomUUID();
    this.#turns.set(turnId, onDelta);
    try {
      return await this.#send(method, { ...params, turnId }, token);
    } finally {
      this.#turns.delete(turnId);
    }
  }

  /** Ask the daemon to end the session. Resolves when `exit` has been written, or cannot be written. */
  async leave(): Promise<void> {
    if (!this.#closed) {
      this.#rpc.sendRequest('shutdown').catch(() => undefined);
      await this.#rpc.sendNotification('exit').catch(() => undefined);
    }
  }

  close(reason: DaemonError): void {
    if (!this.#closed) {
      this.#closed = reason;
      this.#rpc.dispose();
    }
  }

  async #send<R>(method: string, params: object, token?: CancellationToken): Promise<R> {
    this.#checkOpen();
    if (token?.isCancellationRequested) {
      throw cancelled();
    }
    try {
      return await (token
        ? this.#rpc.sendRequest<R>(method, params, token)
        : this.#rpc.sendRequest<R>(method, params));
    } catch (error) {
      this.#checkOpen();
      throw toDaemonError(error);
    }
  }

  #checkOpen(): void {
    if (this.#closed) {
      throw this.#closed;
    }
  }
}

function toDaemonError(error: unknown): unknown {
  return error instanceof ResponseError
    ? new DaemonError(error.code, error.message, error.data as ErrorData | undefined)
    : error;
}
