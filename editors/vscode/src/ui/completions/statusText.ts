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
  const name = model.slice(model.indexOf(':') + 1) || 'default model';
  const select = '[Select Completion Model](command:jumpseat.selectCompletionModel)';
  if (!enabled) {
    return {
      text: '$(circle-slash) Completions',
      label: 'jumpseat completions are off',
      tooltip: `Inline completions are off. Click to turn them on.\n\n${select}`,
    };
  }
  if (problem !== undefined) {
    return {
      text: `$(warning) ${name}`,
      label: `jumpseat completions have failed: ${problem}`,
      tooltip: `${escapeMarkdown(problem)}\n\n${select}`,
    };
  }
  const used = model === '' ? 'the default model' : escapeMarkdown(model);
  return {
    text: `${isRunning ? '$(loading~spin)' : '$(sparkle)'} ${name}`,
    label: `jumpseat completions are on, with ${model || 'the default model'}`,
    tooltip: `Inline completions are on, with ${used}. Click to turn them off.\n\n${select}`,
  };
}
