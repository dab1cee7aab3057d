import type { ModelInfo } from '../../daemon/protocol';

/** Matches the names of small models by a word such as `mini`, or by a number of parameters from `1b` to `9.9b`. */
const SMALL = /\b(mini|nano|small|tiny|haiku|flash|lite|instant|fast)\b|(^|[^\d.])[1-9](\.\d)?b\b/i;

export interface Recommendation {
  /** The models to choose from. */
  usable: ModelInfo[];
  /** The model for longer texts. */
  utility: ModelInfo;
  /** The model for titles and other short texts. */
  small: ModelInfo;
}

/**
 * Recommend models for VS Code's own features. For longer texts, recommend the default model, or the first usable model if
 * the default model is not usable. For short texts, recommend the cheapest model of the same provider that costs less, or
 * that is small and does not cost more. If there is none, recommend the same model for all texts. Returns undefined if no
 * model is usable.
 */
export function recommendModels(models: readonly ModelInfo[]): Recommendation | undefined {
  const usable = models.filter(
    ({ pickerEnabled, policy = 'enabled' }) => pickerEnabled && policy === 'enabled',
  );
  const utility = usable.find((model) => model.isDefault) ?? usable[0];
  if (!utility) {
    return undefined;
  }
  const own = usable.filter(({ provider, deprecated }) => provider === utility.provider && !deprecated);
  const [small = utility] = own
    .filter((model) => costOf(model) < costOf(utility) || isSmall(model))
    .toSorted((a, b) => costOf(a) - costOf(b) || Number(isSmall(b)) - Number(isSmall(a)));
  return { usable, utility, small: costOf(small) <= costOf(utility) ? small : utility };
}

/** Return how much a request counts against the quota: 1 for most providers, because they do not report it. */
function costOf({ billing }: ModelInfo): number {
  return billing?.multiplier ?? 1;
}

function isSmall({ model, name }: ModelInfo): boolean {
  return SMALL.test(model.replaceAll('_', '-')) || SMALL.test(name);
}
