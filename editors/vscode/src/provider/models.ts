import type { ConfigurationProperty, ModelRow } from '../base/untyped';
import type { ModelInfo, ThinkingLevel } from '../daemon/protocol';

/** The context window of a model that neither its provider nor the daemon knows. */
export const UNKNOWN_WINDOW = 128_000;
/** The longest answer of a model of which that is unknown: what the daemon itself asks for. */
export const UNKNOWN_OUTPUT = 8192;

/** The name that VS Code's own agents use for this choice. */
const THINKING_KEY = 'reasoningEffort';
const UNSET = 'default';
const LEVELS: Record<ThinkingLevel, string> = {
  off: 'Answers at once, where the model can',
  minimal: 'Thinks as little as it can',
  low: 'Thinks briefly',
  medium: 'Thinks for some time',
  high: 'Thinks for long',
  max: 'Thinks as long as it can',
};
/** The words of other providers for a level, which VS Code's agents may send. */
const SYNONYMS: Record<string, ThinkingLevel> = { none: 'off', xhigh: 'max' };

interface Limits {
  maxInputTokens: number;
  maxOutputTokens: number;
}

/**
 * VS Code shows the sum of both numbers as the window, and shortens a chat by it. So the input is the window without the
 * output. An output of more than half of the window (some lists give the window itself) counts as half of it.
 */
export function limitsOf(model: ModelInfo): Limits {
  const { maxContextTokens: window, maxPromptTokens: prompt, maxOutputTokens: output } = model;
  if (window === undefined && prompt !== undefined) {
    return { maxInputTokens: prompt, maxOutputTokens: output ?? UNKNOWN_OUTPUT };
  }
  const whole = window ?? UNKNOWN_WINDOW;
  const maxOutputTokens = Math.min(output ?? UNKNOWN_OUTPUT, Math.floor(whole / 2));
  return { maxInputTokens: Math.min(prompt ?? whole, whole - maxOutputTokens), maxOutputTokens };
}

/** The id of the row for the daemon's default model, whichever that is. */
export const DEFAULT_ID = 'default';

/** The models that VS Code lists: the default, then those that their provider wants in a picker and no policy forbids. */
export function listed(models: readonly ModelInfo[]): ModelRow[] {
  const chosen = models.find((model) => model.isDefault);
  const rows = models.filter((model) => model.pickerEnabled && model.policy !== 'disabled').map(rowOf);
  return chosen ? [defaultRow(chosen), ...rows] : rows;
}

function defaultRow(model: ModelInfo): ModelRow {
  return {
    ...rowOf(model),
    id: DEFAULT_ID,
    // VS Code sorts by name and begins with the first: the parenthesis comes before all letters.
    name: '(default)',
    detail: model.id,
    family: DEFAULT_ID,
    version: DEFAULT_ID,
    tooltip: `The default of jumpseat, which "jumpseat: Select Model" changes: ${tooltipOf(model)}`,
    isDefault: true,
  };
}

export function rowOf(model: ModelInfo): ModelRow {
  const thinking = thinkingProperty(model);
  const multiplier = model.billing?.multiplier;
  return {
    id: model.id,
    name: model.name,
    family: model.family,
    version: model.version,
    detail: model.provider,
    tooltip: tooltipOf(model),
    ...limitsOf(model),
    capabilities: { imageInput: model.supportsVision, toolCalling: model.supportsToolUse },
    isUserSelectable: true,
    ...(multiplier !== undefined && { multiplierNumeric: multiplier }),
    ...(thinking && { configurationSchema: { properties: { [THINKING_KEY]: thinking } } }),
  };
}

/** The level that the user, or VS Code's agent, chose; nothing where the configuration of the daemon decides. */
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
  const levels = Object.keys(LEVELS).filter((level) => level === 'off' || !known || known.includes(level));
  const values = [UNSET, ...levels];
  return {
    type: 'string',
    title: 'Thinking',
    enum: values,
    enumItemLabels: [
      // VS Code shows it beside the model's name, which gives way to a long one.
      'Auto',
      ...levels.map((level) => level.charAt(0).toUpperCase() + level.slice(1)),
    ],
    enumDescriptions: ['As the configuration of jumpseat says', ...Object.values(LEVELS)].filter(
      (_, index) => index === 0 || levels.includes(Object.keys(LEVELS)[index - 1] ?? ''),
    ),
    default: UNSET,
    group: 'navigation',
  };
}

function tooltipOf(model: ModelInfo): string {
  const number = new Intl.NumberFormat('en');
  const facts = [model.id];
  if (model.maxContextTokens !== undefined) {
    facts.push(`${number.format(model.maxContextTokens)} tokens of context`);
  }
  if (model.billing?.multiplier !== undefined) {
    facts.push(`counts ${number.format(model.billing.multiplier)}× against the quota`);
  }
  if (model.preview) {
    facts.push('preview');
  }
  if (model.deprecated) {
    facts.push('deprecated');
  }
  if (model.policy === 'unconfigured') {
    facts.push('its terms are not accepted yet: choose it with "jumpseat: Select Model"');
  }
  return facts.join(' · ');
}
