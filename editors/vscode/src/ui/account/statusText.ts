import { l10n } from 'vscode';

import type { Provider, WireError } from '../../daemon/protocol';
import type { Facts } from '../common/facts';
import {
  describeAccount,
  isSignedOut,
  isUnreachable,
  findLeastQuota,
  describeLimits,
  percentLeft,
  formatQuota,
  describeState,
} from '../common/words';
import { escapeMarkdown } from '../text/markdown';

/** The status bar warns if less of a quota remains than this percentage. */
const LOW_PERCENT = 5;

const STATES: Record<Facts['state'], string> = {
  stopped: l10n.t('stopped'),
  starting: l10n.t('starting'),
  ready: l10n.t('ready'),
  failed: l10n.t('failed'),
};

interface StatusText {
  text: string;
  /** Markdown. */
  tooltip: string;
  look: 'normal' | 'warning' | 'error';
}

/**
 * Return the provider of the default model, which may differ from the default provider. If there is no default model, return
 * the default provider.
 */
function findUsedProvider({ providers, model }: Facts): Provider | undefined {
  return providers.find((each) => (model ? each.id === model.provider : each.isDefault));
}

function formatProvider(provider: Provider, failure: WireError | undefined): string[] {
  const known = isUnreachable(provider, failure) ? failure?.message : provider.auth.message;
  const message = known === undefined ? [] : [`  - ${escapeMarkdown(known)}`];
  const quotas = (provider.auth.quotas ?? []).map((quota) => `  - ${escapeMarkdown(formatQuota(quota))}`);
  return [
    `- **${escapeMarkdown(provider.name)}**: ${escapeMarkdown(describeAccount(provider, failure))}`,
    ...message,
    ...quotas,
  ];
}

function formatTooltip(facts: Facts, usage: string): string {
  const version = facts.version === undefined ? '' : ` ${facts.version}`;
  const lines = [`**jumpseat${version}** · ${STATES[facts.state]}`, ''];
  if (facts.failure !== undefined) {
    lines.push(escapeMarkdown(facts.failure), '');
  }
  if (facts.model) {
    const limits = describeLimits(facts.model);
    lines.push(
      l10n.t('Default model: {0}', escapeMarkdown(facts.model.id)) + (limits === '' ? '' : ` (${limits})`),
      '',
    );
  }
  facts.providers.forEach((each) => lines.push(...formatProvider(each, facts.failures.get(each.id))));
  if (usage !== '') {
    lines.push('', l10n.t('This window: {0}', escapeMarkdown(usage)));
  }
  return lines.join('\n');
}

/** Return the status bar's text for screen readers: with the product's name, without icons. */
export function formatLabel(text: string): string {
  const words = text.replaceAll(/\$\([^)]*\) ?/g, '');
  return words.startsWith('jumpseat') ? words : `jumpseat: ${words}`;
}

/**
 * Return the contents of the status bar item.
 *
 * @param usage the tokens and the cost of the window so far
 */
export function formatStatus(facts: Facts, usage = ''): StatusText {
  const build = (icon: string, text: string, look: StatusText['look'] = 'normal'): StatusText => ({
    text: `$(${icon}) ${text}`,
    tooltip: formatTooltip(facts, usage),
    look,
  });
  if (facts.state === 'failed') {
    return build('error', 'jumpseat', 'error');
  }
  if (facts.state === 'starting') {
    return build('sync~spin', 'jumpseat');
  }
  if (facts.state === 'stopped') {
    return build('circle-slash', 'jumpseat');
  }
  const provider = findUsedProvider(facts);
  if (facts.providers.length > 0 && !facts.providers.some((each) => each.configured)) {
    return build('account', `jumpseat: ${l10n.t('no provider is ready')}`, 'warning');
  }
  if (provider && isSignedOut(provider.auth)) {
    return build('account', `jumpseat: ${describeState(provider)}`, 'warning');
  }
  if (provider && isUnreachable(provider, facts.failures.get(provider.id))) {
    return build('debug-disconnect', `jumpseat: ${l10n.t('{0} does not answer', provider.id)}`, 'warning');
  }
  const name = facts.model?.name ?? 'jumpseat';
  const quota = findLeastQuota(provider?.auth);
  if (!quota) {
    return build('comment-discussion', name);
  }
  const left = percentLeft(quota);
  return build(
    'comment-discussion',
    `${name} · ${left} %`,
    left < LOW_PERCENT && quota.overagePermitted !== true ? 'warning' : 'normal',
  );
}
