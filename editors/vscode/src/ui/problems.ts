import { Code, type DaemonError } from '../daemon/errors';
import type { Provider } from '../daemon/protocol';

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

let listed: () => readonly Provider[] = () => [];

/** Where the providers of the last list are found. */
export function useProviders(list: () => readonly Provider[]): void {
  listed = list;
}

/** The sign-in to a provider; none for one with an API key, because the hint of the error says how to set it. */
export function signInTo(id: string | undefined): Action[] {
  if (id === undefined) {
    return [SIGN_IN];
  }
  const provider = listed().find((each) => each.id === id);
  const isPossible = provider === undefined || provider.authMethod === 'device_code';
  return isPossible ? [{ ...SIGN_IN, arguments: [id] }] : [];
}

/** The ways on after an error, the best one first. */
export function actionsAfter(error: DaemonError): Action[] {
  switch (error.code) {
    case Code.authentication:
      return [...signInTo(error.data.provider), SELECT_MODEL];
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
