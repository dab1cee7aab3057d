import { l10n } from 'vscode';

import { DaemonError } from '../../daemon/errors';
import type { Check, ModelInfo, Provider, WireError } from '../../daemon/protocol';
import { findActions, findSetUpActions, type Action } from '../common/problems';
import { describeState, isSignedOut } from '../common/words';

/** A row of the diagnosis: why models are missing, or how many are available. */
export interface Finding {
  label: string;
  detail: string;
  /** The fix. */
  action?: Action;
}

const OPEN_CONFIGURATION: Action = {
  title: l10n.t('Open Configuration'),
  command: 'jumpseat.openConfiguration',
};

/** Explain which models of a provider are missing in VS Code, why, and how to fix it. */
export function explainModels(
  provider: Provider,
  models: readonly ModelInfo[],
  failure: WireError | undefined,
  checks: readonly Check[],
): Finding[] {
  const findings = [
    ...explainProvider(provider, models, failure),
    ...checks.filter(({ ok }) => ok === false).map(explainCheck),
    ...explainMissing(models),
  ];
  const shown = models.filter((model) => model.pickerEnabled && model.policy !== 'disabled').length;
  return shown > 0
    ? [{ label: `$(check) ${l10n.t('{0} in the picker', count(shown))}`, detail: '' }, ...findings]
    : findings;
}

function explainProvider(
  provider: Provider,
  models: readonly ModelInfo[],
  failure: WireError | undefined,
): Finding[] {
  const [action] = findSetUpActions(provider);
  if (isSignedOut(provider.auth)) {
    const detail = provider.auth.message ?? l10n.t('The provider needs to be set up.');
    return [{ label: `$(warning) ${describeState(provider)}`, detail, ...(action && { action }) }];
  }
  if (failure) {
    const error = new DaemonError(failure.code, failure.message, failure.data);
    const [action] = findActions(error);
    return [
      {
        label: `$(warning) ${l10n.t('no list of models')}`,
        detail: error.sentence,
        ...(action && { action }),
      },
    ];
  }
  if (models.length === 0) {
    const detail = l10n.t(
      "The provider lists no models. Add them to `models` in the provider's table in the configuration file.",
    );
    return [{ label: `$(warning) ${l10n.t('no models')}`, detail, action: OPEN_CONFIGURATION }];
  }
  return [];
}

function explainCheck({ name, message, hint }: Check): Finding {
  return {
    label: `$(error) ${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
    detail: hint === undefined ? message : `${message} ${hint}`,
  };
}

function explainMissing(models: readonly ModelInfo[]): Finding[] {
  const findings: Finding[] = [];
  const add = (
    found: readonly ModelInfo[],
    label: (amount: string) => string,
    detail: string,
    action?: Action,
  ): void => {
    if (found.length > 0) {
      const names = found.map(({ model }) => model).join(', ');
      findings.push({
        label: `$(info) ${label(count(found.length))}`,
        detail: `${detail} ${names}`,
        ...(action && { action }),
      });
    }
  };
  const usable = models.filter((model) => model.policy !== 'disabled' && model.pickerEnabled);
  add(
    models.filter((model) => model.policy === 'disabled'),
    (amount) => l10n.t('{0} disabled by a policy', amount),
    l10n.t('Your account or organization has disabled them:'),
  );
  const [first] = usable.filter((model) => model.policy === 'unconfigured');
  add(
    usable.filter((model) => model.policy === 'unconfigured'),
    (amount) => l10n.t('{0} with terms that are not accepted', amount),
    l10n.t('Select one to accept its terms:'),
    first && { title: l10n.t('Select Model'), command: 'jumpseat.selectModel' },
  );
  add(
    models.filter((model) => !model.pickerEnabled && model.policy !== 'disabled'),
    (amount) => l10n.t('{0} not meant for a picker', amount),
    l10n.t('The provider leaves them out of lists; name one in a transcript to use it:'),
  );
  add(
    usable.filter((model) => !model.supportsToolUse),
    (amount) => l10n.t('{0} not in agent mode', amount),
    l10n.t(
      'They cannot call tools, as far as jumpseat knows. If they can, set `supports_tool_use = true` for them in the configuration file:',
    ),
    OPEN_CONFIGURATION,
  );
  return findings;
}

function count(models: number): string {
  return models === 1 ? l10n.t('1 model') : l10n.t('{0} models', models);
}
