import { l10n, type CancellationToken } from 'vscode';

import type { Prompt, PromptParams, PromptRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showWarning } from '../common/messages';

export interface PromptCall {
  name: string;
  input: string;
}

/** Parse a call of a prompt at the start of a text: `/review the rest`. The daemon decides which names exist. */
export function parsePromptCall(text: string): PromptCall | undefined {
  const match = /^\s*\/([A-Za-z0-9._-]+)(?=\s|$)/.exec(text);
  return match?.[1] === undefined ? undefined : { name: match[1], input: text.slice(match[0].length).trim() };
}

/** Return a prompt with its input. If the daemon shortened a diff in the input, show its warning. */
export async function getPrompt(
  daemon: Daemon,
  params: PromptParams,
  token?: CancellationToken,
): Promise<Prompt> {
  const prompt = await daemon.request('prompts/get', params, token);
  for (const { message } of prompt.warnings ?? []) {
    showWarning(message);
  }
  return prompt;
}

/** Format the prompts as a list to choose from. */
export function formatPromptList(prompts: readonly PromptRow[]): string {
  if (prompts.length === 0) {
    return l10n.t(
      'The configuration file has no prompts yet. To add one, write a table `[prompts.NAME]` with a `text`.',
    );
  }
  const lines = prompts.map(
    (each) => `- \`/${each.name}\`${each.description === undefined ? '' : ` ${each.description}`}`,
  );
  return [l10n.t('Write `@jumpseat /NAME` and your input, or choose:'), '', ...lines].join('\n');
}
