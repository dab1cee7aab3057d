import { l10n } from 'vscode';

import type { ModelInfo, PromptRow, Provider, SettingsRow } from '../../daemon/protocol';
import { describeAbilities, describeLimits } from '../common/words';

/** A completion at a position in a transcript. */
export interface Suggestion {
  kind: 'key' | 'value' | 'model' | 'prompt';
  text: string;
  detail?: string;
  documentation?: string;
}

/** The data from which completions are created. */
export interface Known {
  providers: readonly Provider[];
  models: readonly ModelInfo[];
  prompts: readonly PromptRow[];
}

/** The top-level keys of the front matter. Settings are not listed here, although they can be top-level keys too. */
const KEYS: Record<string, string> = {
  model: l10n.t('The model, as provider:model.'),
  system: l10n.t('The system prompt.'),
  settings: l10n.t('Settings of the provider.'),
  conversation: l10n.t('The kept conversation that the chat continues.'),
};

/** Return the index of the line that closes the front matter, or 0 if there is none. */
function findFrontMatterEnd(lines: readonly string[]): number {
  return lines[0] === '---' ? Math.max(lines.indexOf('---', 1), 0) : 0;
}

/** Return the settings rows for a chat: those of its model's provider, or else of the default provider. */
function findRows(lines: readonly string[], end: number, providers: readonly Provider[]): SettingsRow[] {
  const model = lines
    .slice(1, end)
    .map((line) => /^model:\s*["']?([^\s"']+)/.exec(line)?.[1])
    .find((name) => name !== undefined);
  const id = model?.split(':')[0];
  const provider = providers.find((each) => each.id === id) ?? providers.find((each) => each.isDefault);
  return provider?.settingsSchema ?? [];
}

/** Describe the values that a settings row allows. */
export function describeValues(row: SettingsRow): string {
  const parts: string[] = [row.type];
  if (row.choices) {
    parts.push(row.choices.map(String).join(', '));
  }
  if (row.minimum !== undefined) {
    parts.push(l10n.t('at least {0}', row.minimum));
  }
  if (row.maximum !== undefined) {
    parts.push(l10n.t('at most {0}', row.maximum));
  }
  if (row.default !== undefined) {
    parts.push(l10n.t('default {0}', JSON.stringify(row.default)));
  }
  return parts.join(', ');
}

function suggestKeys(rows: readonly SettingsRow[], isNested: boolean): Suggestion[] {
  const own = Object.entries(KEYS).map(([text, documentation]) => ({ text, documentation }));
  const settings = rows.map((row) => ({
    text: row.key,
    detail: describeValues(row),
    documentation: row.description,
  }));
  return [...(isNested ? [] : own), ...settings].map((each) => ({ kind: 'key', ...each }));
}

function suggestValues(
  key: string,
  rows: readonly SettingsRow[],
  models: readonly ModelInfo[],
): Suggestion[] {
  if (key === 'model') {
    const describe = (each: ModelInfo): string =>
      [describeLimits(each), describeAbilities(each)].filter(Boolean).join(' · ');
    return models.map((each) => ({ kind: 'model', text: each.id, detail: describe(each) }));
  }
  const row = rows.find((each) => each.key === key);
  const values = row?.choices ?? (row?.type === 'boolean' ? [true, false] : []);
  return values.map((value) => ({ kind: 'value', text: String(value) }));
}

/** Whether a line is the first line with text in its message. */
function isFirstOfMessage(lines: readonly string[], line: number): boolean {
  const above = lines.slice(0, line).findLast((each) => each.trim() !== '');
  return above === undefined || above.startsWith('## ') || above === '---';
}

/** Return the completions at a position: keys and values of the front matter, and prompts at the start of a question. */
export function findSuggestions(
  lines: readonly string[],
  line: number,
  character: number,
  known: Known,
): Suggestion[] {
  const before = (lines[line] ?? '').slice(0, character);
  const end = findFrontMatterEnd(lines);
  if (line > 0 && line < end) {
    const rows = findRows(lines, end, known.providers);
    const key = /^(\s*)\w*$/.exec(before);
    if (key) {
      return suggestKeys(rows, key[1] !== '');
    }
    const value = /^\s*(\w+):\s*\S*$/.exec(before)?.[1];
    return value === undefined ? [] : suggestValues(value, rows, known.models);
  }
  if (line >= end && /^\/[\w.-]*$/.test(before) && isFirstOfMessage(lines, line)) {
    return known.prompts.map((each) => ({
      kind: 'prompt',
      text: each.name,
      ...(each.description !== undefined && { detail: each.description }),
    }));
  }
  return [];
}
