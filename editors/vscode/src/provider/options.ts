import type { ChatParams } from '../daemon/protocol';
import { thinkingOf } from './models';

/** The names that extensions use for two parameters of a turn that are not settings. */
const MAX_TOKENS = [
  'max_tokens',
  'maxTokens',
  'max_output_tokens',
  'max_completion_tokens',
  'maxOutputTokens',
];
const STOP = ['stop', 'stopSequences', 'stop_sequences'];

/**
 * Convert the options of a request to parameters of a turn. `modelOptions` may contain anything, such as VS Code's own
 * markers and options for other providers. Keys that are not settings of this provider are left out, because the daemon
 * rejects unknown settings.
 *
 * @param settings the keys of the provider's settings schema
 */
export function selectParameters(
  modelOptions: Readonly<Record<string, unknown>> = {},
  modelConfiguration: Readonly<Record<string, unknown>> | undefined,
  settings: ReadonlySet<string>,
): Partial<ChatParams> {
  // Allow answers up to the model's limit by default: an agent cannot continue after a truncated tool call. VS Code knows
  // the limit from the list of models.
  const found: Partial<ChatParams> = { maxTokensDefault: 'model' };
  const chosen: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(modelOptions)) {
    if (value === undefined || value === null) {
      continue;
    }
    if (MAX_TOKENS.includes(key)) {
      if (Number.isInteger(value) && (value as number) > 0) {
        found.maxTokens = value as number;
      }
    } else if (STOP.includes(key)) {
      const sequences = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string');
      if (sequences.length) {
        found.stopSequences = sequences;
      }
    } else if (key === '_conversationId') {
      // VS Code's id of the chat. The daemon uses it so that the turns of the chat share the provider's prompt cache.
      if (typeof value === 'string' && value) {
        found.conversationId = value;
      }
    } else if (settings.has(key)) {
      chosen[key] = value;
    }
  }
  const thinking = thinkingOf(modelConfiguration);
  if (thinking) {
    found.thinking = thinking;
  }
  if (Object.keys(chosen).length) {
    found.settings = chosen;
  }
  return found;
}
