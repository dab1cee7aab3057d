import { Code, type DaemonError } from '../daemon/errors';

/** A way on after an error: the title of a button, and its command. */
export interface Action {
  title: string;
  command: string;
  arguments?: unknown[];
}

export const SIGN_IN: Action = { title: 'Sign In', command: 'jumpseat.signIn' };
export const SELECT_MODEL: Action = { title: 'Select Model', command: 'jumpseat.selectModel' };
export const SHOW_LOG: Action = { title: 'Show Log', command: 'jumpseat.showLog' };
const RESTART: Action = { title: 'Restart Server', command: 'jumpseat.restart' };
const STATUS: Action = { title: 'Status', command: 'jumpseat.status' };

/** The ways on after an error, the best one first. */
export function actionsAfter(error: DaemonError): Action[] {
  switch (error.code) {
    case Code.authentication:
      return [
        error.data.provider === undefined ? SIGN_IN : { ...SIGN_IN, arguments: [error.data.provider] },
        SELECT_MODEL,
      ];
    case Code.authorization:
    case Code.quotaExceeded:
      return [SELECT_MODEL, STATUS];
    case Code.rateLimit:
      return [SELECT_MODEL];
    case Code.request:
      return error.data.provider === undefined ? [] : [SELECT_MODEL];
    case Code.config:
      return [RESTART, SHOW_LOG];
    case Code.connection:
      return error.data.provider === undefined ? [RESTART, SHOW_LOG] : [SHOW_LOG];
    default:
      return [SHOW_LOG];
  }
}

/** An error as Markdown: the sentence of the daemon, then its hint. */
export function asMarkdown(error: DaemonError): string {
  return error.data.hint === undefined ? error.message : `${error.message}\n\n${error.data.hint}`;
}
