import { l10n } from 'vscode';

import { Code, type DaemonError } from '../../daemon/errors';
import type { AuthStatus, Provider } from '../../daemon/protocol';
import { hasSignIn } from './words';

/** An action that the user can choose, such as after an error: the title of a button, and its command. */
export interface Action {
  title: string;
  command: string;
  arguments?: unknown[];
}

const SIGN_IN: Action = { title: l10n.t('Sign In'), command: 'jumpseat.signIn' };
export const SELECT_MODEL: Action = { title: l10n.t('Select Model'), command: 'jumpseat.selectModel' };
const SHOW_LOG: Action = { title: l10n.t('Show Log'), command: 'jumpseat.showLog' };
const RESTART: Action = { title: l10n.t('Restart Server'), command: 'jumpseat.restart' };
const INSTALL_LOCAL_MODEL: Action = {
  title: l10n.t('Install Local Model'),
  command: 'jumpseat.installLocalModel',
};
const SET_KEY: Action = { title: l10n.t('Set API Key'), command: 'jumpseat.setKey' };
const STATUS: Action = { title: l10n.t('Status'), command: 'jumpseat.status' };

let listProviders: () => readonly Provider[] = () => [];

/** Set the source of the last known providers. */
export function useProviders(list: () => readonly Provider[]): void {
  listProviders = list;
}

function findListed(id: string | undefined): Provider | undefined {
  return listProviders().find((each) => each.id === id);
}

/** Return the actions that make a provider ready. */
export function findSetUpActions(provider: Provider): Action[] {
  if (provider.kind === 'local') {
    return [INSTALL_LOCAL_MODEL];
  }
  if (provider.authMethod === 'api_key') {
    return [{ ...SET_KEY, arguments: [provider.id] }];
  }
  return hasSignIn(provider) ? [{ ...SIGN_IN, arguments: [provider.id] }] : [];
}

function findSetUpActionsOf(id: string | undefined): Action[] {
  const provider = findListed(id);
  return provider
    ? findSetUpActions(provider)
    : [{ ...SIGN_IN, ...(id !== undefined && { arguments: [id] }) }];
}

/** Return the message for a provider that can no longer be used: the reason, and the possible actions. */
export function describeLoss({ provider: id, message = '' }: AuthStatus): {
  text: string;
  actions: Action[];
} {
  const provider = findListed(id);
  const isWithoutSignIn = provider !== undefined && !hasSignIn(provider);
  const sentence = isWithoutSignIn
    ? l10n.t('{0} is no longer ready.', id)
    : l10n.t('You are signed out of {0}.', id);
  return { text: `${sentence} ${message}`.trim(), actions: findSetUpActionsOf(id) };
}

/** Return the possible actions after an error, best first. */
export function findActions(error: DaemonError): Action[] {
  switch (error.code) {
    case Code.authentication:
      return [...findSetUpActionsOf(error.data.provider), SELECT_MODEL];
    case Code.authorization:
    case Code.quotaExceeded:
      return [SELECT_MODEL, STATUS];
    case Code.rateLimit:
      return [SELECT_MODEL];
    case Code.request:
      return error.data.provider === undefined ? [] : [SELECT_MODEL];
    case Code.config: {
      const provider = findListed(error.data.provider);
      if (provider) {
        return [...(hasSignIn(provider) ? [] : findSetUpActions(provider)), SELECT_MODEL];
      }
      return [RESTART, SHOW_LOG];
    }
    case Code.connection:
      return error.data.provider === undefined ? [RESTART, SHOW_LOG] : [SHOW_LOG];
    default:
      return [SHOW_LOG];
  }
}

/** Format an error as Markdown: the daemon's message, then its hint. */
export function asMarkdown(error: DaemonError): string {
  return error.data.hint === undefined ? error.message : `${error.message}\n\n${error.data.hint}`;
}
