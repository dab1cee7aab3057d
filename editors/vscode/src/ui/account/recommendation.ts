import type { ModelInfo } from '../../daemon/protocol';

/** Words in the names of small models, which are fast and cheap. */
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
 * Recommend models for VS Code's own features: the default model, and for short texts the smallest model of the same
 * provider. Returns undefined if there are no models.
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

/** Return what a request counts against the quota. Most providers do not say. */
function costOf({ billing }: ModelInfo): number {
  return billing?.multiplier ?? 1;
}

function isSmall({ model, name }: ModelInfo): boolean {
  return SMALL.test(model.replaceAll('_', '-')) || SMALL.test(name);
}
