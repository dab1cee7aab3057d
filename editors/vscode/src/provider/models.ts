import { l10n } from 'vscode';

import { formatNumber } from '../base/formats';
import type { ConfigurationProperty, ModelRow } from '../base/untyped';
import type { ModelInfo, ThinkingLevel } from '../daemon/protocol';

/** The context window to assume for a model if neither the provider nor the daemon knows the real one. */
export const UNKNOWN_WINDOW = 128_000;
/** The output limit to assume for a model if the real one is unknown: the limit that the daemon requests by default. */
export const UNKNOWN_OUTPUT = 8192;

/** The key of the thinking level in a model's configuration. VS Code's own agents use the same key. */
const THINKING_KEY = 'reasoningEffort';
const UNSET = 'default';
const LEVELS: Record<ThinkingLevel, { label: string; description: string }> = {
  off: { label: l10n.t('Off'), description: l10n.t('Answers immediately, if the model can') },
  minimal: { label: l10n.t('Minimal'), description: l10n.t('Thinks as little as possible') },
  low: { label: l10n.t('Low'), description: l10n.t('Thinks briefly') },
  medium: { label: l10n.t('Medium'), description: l10n.t('Thinks for some time') },
  high: { label: l10n.t('High'), description: l10n.t('Thinks for a long time') },
  max: { label: l10n.t('Max'), description: l10n.t('Thinks as long as possible') },
};
/** Other providers' names for levels, which VS Code's agents may send. */
const SYNONYMS: Record<string, ThinkingLevel> = { none: 'off', xhigh: 'max' };

type Reported = Partial<Pick<ModelInfo, 'maxContextTokens' | 'maxPromptTokens' | 'maxOutputTokens'>>;

interface Limits {
  maxInputTokens: number;
  maxOutputTokens: number;
}

/**
 * Return the input and output limits of a model. VS Code shows their sum as the context window, and shortens chats to the
 * input limit. The input limit is therefore at most the window minus the output limit. An output limit above half of the
 * window counts as half of the window, because some providers report the whole window as the output limit.
 */
export function limitsOf(model: Reported): Limits {
  const { maxContextTokens: window, maxPromptTokens: prompt, maxOutputTokens: output } = model;
  if (window === undefined && prompt !== undefined) {
    return { maxInputTokens: prompt, maxOutputTokens: output ?? UNKNOWN_OUTPUT };
  }
  const whole = window ?? UNKNOWN_WINDOW;
  const maxOutputTokens = Math.min(output ?? UNKNOWN_OUTPUT, Math.floor(whole / 2));
  return { maxInputTokens: Math.min(prompt ?? whole, whole - maxOutputTokens), maxOutputTokens };
}

/** The id of the row for the daemon's default model, whichever model that is. */
export const DEFAULT_ID = 'default';

/** Return the rows for VS Code's list: the default model, and the models that are meant for pickers and not disabled. */
export function listRows(models: readonly ModelInfo[]): ModelRow[] {
  const chosen = models.find((model) => model.isDefault);
  const rows = models.filter((model) => model.pickerEnabled && model.policy !== 'disabled').map(toRow);
  return chosen ? [toDefaultRow(chosen), ...rows] : rows;
}

function toDefaultRow(model: ModelInfo): ModelRow {
  return {
    ...toRow(model),
    id: DEFAULT_ID,
    // VS Code sorts by name and preselects the first row. A parenthesis sorts before all letters.
    name: l10n.t('(default) {0}', model.name),
    detail: model.id,
    family: DEFAULT_ID,
    version: DEFAULT_ID,
    tooltip: l10n.t(
      'The default model of jumpseat, which "jumpseat: Select Model" changes: {0}',
      formatTooltip(model),
    ),
    isDefault: true,
  };
}

export function toRow(model: ModelInfo): ModelRow {
  const thinking = thinkingProperty(model);
  const multiplier = model.billing?.multiplier;
  return {
    id: model.id,
    name: model.name,
    family: model.family,
    version: model.version,
    detail: model.provider,
    tooltip: formatTooltip(model),
    ...limitsOf(model),
    capabilities: { imageInput: model.supportsVision, toolCalling: model.supportsToolUse },
    isUserSelectable: true,
    ...(multiplier !== undefined && { multiplierNumeric: multiplier }),
    ...(thinking && { configurationSchema: { properties: { [THINKING_KEY]: thinking } } }),
  };
}

/** Return the level that the user or VS Code's agent chose, or undefined to use the daemon's configuration. */
export function thinkingOf(configuration: Readonly<Record<string, unknown>> = {}): ThinkingLevel | undefined {
  const value = configuration[THINKING_KEY];
  if (typeof value !== 'string') {
    return undefined;
  }
  return Object.hasOwn(LEVELS, value) ? (value as ThinkingLevel) : SYNONYMS[value];
}

function thinkingProperty(model: ModelInfo): ConfigurationProperty | undefined {
  if (!model.supportsThinking) {
    return undefined;
  }
  const known = model.thinkingLevels;
  const levels = Object.entries(LEVELS).filter(
    ([level]) => level === 'off' || !known || known.includes(level),
  );
  return {
    type: 'string',
    title: l10n.t('Thinking'),
    enum: [UNSET, ...levels.map(([level]) => level)],
    // VS Code shows the label beside the model's name, and truncates the name if the label is long.
    enumItemLabels: [l10n.t('Auto'), ...levels.map(([, { label }]) => label)],
    enumDescriptions: [
      l10n.t('As configured in jumpseat'),
      ...levels.map(([, { description }]) => description),
    ],
    default: UNSET,
    group: 'navigation',
  };
}

/** Return the names of a model's abilities. */
export function listAbilities(model: ModelInfo): string[] {
  return [
    ...(model.supportsVision ? [l10n.t('images')] : []),
    ...(model.supportsThinking ? [l10n.t('thinking')] : []),
    ...(model.supportsToolUse ? [l10n.t('tools')] : []),
  ];
}

function formatTooltip(model: ModelInfo): string {
  const facts = [model.id];
  if (model.maxContextTokens !== undefined) {
    facts.push(l10n.t('{0} tokens of context', formatNumber(model.maxContextTokens)));
  }
  if (model.maxOutputTokens !== undefined) {
    facts.push(l10n.t('{0} of output', formatNumber(model.maxOutputTokens)));
  }
  const abilities = listAbilities(model);
  if (abilities.length > 0) {
    facts.push(abilities.join(', '));
  }
  if (model.billing?.multiplier !== undefined) {
    facts.push(l10n.t('counts {0}× against the quota', formatNumber(model.billing.multiplier)));
  }
  if (model.preview) {
    facts.push(l10n.t('preview'));
  }
  if (model.deprecated) {
    facts.push(l10n.t('deprecated'));
  }
  if (model.policy === 'unconfigured') {
    facts.push(l10n.t('its terms are not accepted yet: choose the model with "jumpseat: Select Model"'));
  }
  return facts.join(' · ');
}
