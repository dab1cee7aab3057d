import { l10n } from 'vscode';

import type { ErrorData } from './protocol';

/** The error codes that this extension distinguishes. `docs/protocol/errors.md` describes them. */
export const Code = {
  authentication: 1000,
  authorization: 1001,
  rateLimit: 1002,
  quotaExceeded: 1003,
  request: 1004,
  connection: 1008,
  config: 1010,
  cancelled: -32800,
} as const;

/** An error from the daemon, or an error of this extension in the same form. */
export class DaemonError extends Error {
  override readonly name = 'DaemonError';

  constructor(
    readonly code: number,
    message: string,
    readonly data: ErrorData = { kind: 'internal', retryable: false },
  ) {
    super(message);
  }

  /** The text for the user: the message, and the hint if there is one. */
  get sentence(): string {
    return this.data.hint ? `${this.message} ${this.data.hint}` : this.message;
  }

  get cancelled(): boolean {
    return this.code === Code.cancelled;
  }
}

/** Convert anything thrown to a `DaemonError`. */
export function asDaemonError(error: unknown): DaemonError {
  if (error instanceof DaemonError) {
    return error;
  }
  return new DaemonError(-32603, error instanceof Error ? error.message : String(error));
}

export function cancelled(): DaemonError {
  return new DaemonError(Code.cancelled, l10n.t('The request was cancelled.'), {
    kind: 'cancelled',
    retryable: false,
  });
}

export function createConnectionError(message: string, hint: string): DaemonError {
  return new DaemonError(Code.connection, message, { kind: 'connection', retryable: true, hint });
}

export function createSetUpError(message: string, hint: string): DaemonError {
  return new DaemonError(Code.config, message, { kind: 'config', retryable: false, hint });
}
