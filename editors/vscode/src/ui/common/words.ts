import { l10n } from 'vscode';

import { formatDate, formatNumber } from '../../base/formats';
import { Code } from '../../daemon/errors';
import type {
  AuthPrompt,
  AuthStatus,
  ConversationRow,
  ModelInfo,
  Provider,
  Quota,
  WireError,
} from '../../daemon/protocol';
import { listAbilities } from '../../provider/models';

/** The separator between facts on one line. */
const DOT = ' · ';

const STATES = {
  not_required: l10n.t('no sign-in needed'),
  configured: l10n.t('configured'),
  signed_in: l10n.t('signed in'),
  not_authorized: l10n.t('not authorized'),
  signed_out: l10n.t('signed out'),
  expired: l10n.t('expired'),
} satisfies Record<AuthStatus['state'], string>;

/** Return the words for a value of an enum, or the value itself if it comes from a newer daemon and has no words. */
export function wordsFor(value: string, words: Partial<Record<string, string>>): string {
  return words[value] ?? value.replaceAll('_', ' ');
}

function formatSize(tokens: number | undefined): string | undefined {
  if (tokens === undefined) {
    return undefined;
  }
  return tokens < 1000 ? formatNumber(tokens) : `${formatNumber(Math.round(tokens / 1000))}k`;
}

/** Describe the known limits and the cost of a model. */
export function describeLimits(model: ModelInfo): string {
  const parts: string[] = [];
  const context = formatSize(model.maxContextTokens ?? model.maxPromptTokens);
  const output = formatSize(model.maxOutputTokens);
  if (context !== undefined) {
    parts.push(
      output === undefined
        ? l10n.t('{0} context', context)
        : l10n.t('{0} context, {1} output', context, output),
    );
  }
  if (model.billing?.multiplier !== undefined) {
    parts.push(`${formatNumber(model.billing.multiplier)}x`);
  }
  return parts.join(DOT);
}

/** Describe the abilities of a model and its status, such as `preview` or `terms not accepted`. */
export function describeAbilities(model: ModelInfo): string {
  const parts = [listAbilities(model).join(', ')];
  if (model.preview) {
    parts.push(l10n.t('preview'));
  }
  if (model.deprecated) {
    parts.push(l10n.t('deprecated'));
  }
  if (model.policy === 'unconfigured') {
    parts.push(l10n.t('terms not accepted'));
  } else if (model.policy === 'disabled') {
    parts.push(l10n.t('disabled'));
  }
  if (model.isDefault) {
    parts.push(l10n.t('default'));
  }
  return parts.filter(Boolean).join(DOT);
}

/** Return the account's most used quota, or undefined if nothing is limited. */
export function findLeastQuota(account: AuthStatus | undefined): Quota | undefined {
  const limited = (account?.quotas ?? []).filter((quota) => !quota.unlimited);
  return limited.toSorted((a, b) => a.percentRemaining - b.percentRemaining)[0];
}

/** Return the remaining percentage, rounded down: 0.6 % must not become 1 %. */
export function percentLeft(quota: Quota): number {
  return Math.max(0, Math.floor(quota.percentRemaining));
}

export function formatQuota(quota: Quota): string {
  const name = quota.name.replaceAll('_', ' ');
  const { unlimited, remaining, entitlement, resetAt } = quota;
  if (unlimited) {
    return l10n.t('{0}: unlimited', name);
  }
  const percent = percentLeft(quota);
  const left =
    remaining === undefined || entitlement === undefined
      ? l10n.t('{0}: {1} % left', name, percent)
      : l10n.t(
          '{0}: {1} % left ({2} of {3})',
          name,
          percent,
          formatNumber(remaining),
          formatNumber(entitlement),
        );
  // Quotas are reset at midnight in UTC. In America, the local date is then still the day before.
  return resetAt === undefined ? left : l10n.t('{0}, resets on {1}', left, formatDate(resetAt, 'UTC'));
}

/** Whether users sign in to a provider. Other providers need an API key or nothing. */
export function hasSignIn(provider: Pick<Provider, 'authMethod'>): boolean {
  return provider.authMethod === 'device_code';
}

/** Describe the state of a provider's account. Only a provider with a sign-in can be "signed out". */
export function describeState(provider: Pick<Provider, 'auth' | 'authMethod'>): string {
  const { state } = provider.auth;
  return state === 'signed_out' && !hasSignIn(provider) ? l10n.t('not ready') : wordsFor(state, STATES);
}

/** Whether a provider that is set up does not answer. */
export function isUnreachable(provider: Provider, failure: WireError | undefined): boolean {
  return failure?.code === Code.connection && !isSignedOut(provider.auth);
}

/**
 * Describe a provider's account in one line.
 *
 * @param failure why the provider has not listed its models
 */
export function describeAccount(provider: Provider, failure?: WireError): string {
  const { login, plan } = provider.auth;
  const state = isUnreachable(provider, failure) ? l10n.t('does not answer') : describeState(provider);
  return [
    login === undefined ? state : l10n.t('{0} as {1}', state, login),
    plan,
    provider.isDefault ? l10n.t('default') : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(DOT);
}

/** Tell the user what to do during a sign-in. */
export function describePrompt({ userCode, verificationUri, host }: AuthPrompt): string {
  return userCode === undefined
    ? l10n.t('sign in at {0}', `[${host ?? verificationUri}](${verificationUri})`)
    : l10n.t(
        'enter the code {0}, which was copied, at {1}',
        userCode,
        `[${verificationUri}](${verificationUri})`,
      );
}

/** Describe the result of a sign-in. The provider may not need a sign-in, or the user may have to do something else. */
export function describeSignIn({ provider, state, login, message }: AuthStatus): string {
  if (state === 'signed_in') {
    return login === undefined
      ? l10n.t('Signed in to {0}.', provider)
      : l10n.t('Signed in to {0} as {1}.', provider, login);
  }
  if (state === 'not_required') {
    return l10n.t('{0} does not need a sign-in.', provider);
  }
  return `${provider}: ${wordsFor(state, STATES)}. ${message ?? ''}`.trim();
}

/** Describe the result of a sign-out. A token that jumpseat does not store remains; the daemon's message then says so. */
export function describeSignOut(account: AuthStatus): string {
  return account.state === 'signed_out'
    ? l10n.t('Signed out of {0}.', account.provider)
    : (account.message ?? describeSignIn(account));
}

/** Whether the user must sign in, or set up the provider in another way, before it can be used. */
export function isSignedOut(account: AuthStatus): boolean {
  return account.state === 'signed_out' || account.state === 'expired';
}

/** Describe how long ago a time was, for lists of conversations. */
export function formatAge(time: string, now: Date): string {
  const minutes = Math.floor((now.getTime() - Date.parse(time)) / 60_000);
  // This is also true for an invalid time, whose age is NaN.
  if (!(minutes >= 1)) {
    return l10n.t('now');
  }
  if (minutes < 60) {
    return l10n.t('{0} min', minutes);
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 24) {
    return l10n.t('{0} h', hours);
  }
  const days = Math.floor(hours / 24);
  return days < 30 ? l10n.t('{0} d', days) : formatDate(time);
}

export function formatTurns(row: ConversationRow): string {
  return row.turns === 1 ? l10n.t('1 turn') : l10n.t('{0} turns', formatNumber(row.turns));
}

/** Describe a kept conversation in one line, which is shown below its title. */
export function describeConversation(row: ConversationRow, now: Date): string {
  return [formatAge(row.updatedAt, now), formatTurns(row), row.model]
    .filter((part) => part !== undefined)
    .join(DOT);
}
