import { l10n } from 'vscode';

import { escapeMarkdown } from '../text/markdown';

export interface CompletionFacts {
  enabled: boolean;
  /** `provider:model`; empty if it is not known. */
  model: string;
  isRunning: boolean;
  /** Why the last completion failed. */
  problem?: string;
}

/** Return the text of the status item, its label for screen readers, and its tooltip in Markdown. */
export function formatCompletionStatus({ enabled, model, isRunning, problem }: CompletionFacts): {
  text: string;
  label: string;
  tooltip: string;
} {
  const name = model.slice(model.indexOf(':') + 1) || l10n.t('default model');
  const select = `[${l10n.t('Select Completion Model')}](command:jumpseat.selectCompletionModel)`;
  if (!enabled) {
    return {
      text: `$(circle-slash) ${l10n.t('Completions')}`,
      label: l10n.t('jumpseat completions are off'),
      tooltip: `${l10n.t('Inline completions are off. Click to turn them on.')}\n\n${select}`,
    };
  }
  if (problem !== undefined) {
    return {
      text: `$(warning) ${name}`,
      label: l10n.t('jumpseat completions have failed: {0}', problem),
      tooltip: `${escapeMarkdown(problem)}\n\n${select}`,
    };
  }
  const used = model === '' ? l10n.t('the default model') : escapeMarkdown(model);
  return {
    text: `${isRunning ? '$(loading~spin)' : '$(sparkle)'} ${name}`,
    label: l10n.t('jumpseat completions are on, with {0}', model || l10n.t('the default model')),
    tooltip: `${l10n.t('Inline completions are on, with {0}. Click to turn them off.', used)}\n\n${select}`,
  };
}
