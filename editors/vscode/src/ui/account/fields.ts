import { l10n } from 'vscode';

import type { SettingsRow } from '../../daemon/protocol';

/** Parse the text that a user entered for a row. Throws if the value is not of the row's type. */
export function parseValue({ type }: Pick<SettingsRow, 'type'>, text: string): unknown {
  if (type === 'string' || type === 'enum') {
    return text;
  }
  const value: unknown = JSON.parse(text);
  const isOfType = {
    number: typeof value === 'number',
    integer: Number.isInteger(value),
    boolean: typeof value === 'boolean',
    list: Array.isArray(value),
    map: typeof value === 'object' && value !== null && !Array.isArray(value),
  };
  if (!isOfType[type]) {
    throw new TypeError(l10n.t('{0} is not of type {1}', text, type));
  }
  return value;
}

/** Return the mistake in the text that a user entered for a row, or undefined. The daemon checks everything else. */
export function findMistake(row: SettingsRow, text: string): string | undefined {
  if (text.trim() === '') {
    return row.optional ? undefined : l10n.t('This must not be empty.');
  }
  let value: unknown;
  try {
    value = parseValue(row, text.trim());
  } catch {
    return l10n.t('This must be of type {0}.', row.type);
  }
  const { minimum = -Infinity, maximum = Infinity } = row;
  return typeof value === 'number' && (value < minimum || value > maximum)
    ? l10n.t('Enter a number {0}.', formatRange(row))
    : undefined;
}

/** Describe the values that a row allows. */
export function formatRule(row: SettingsRow): string {
  return row.choices ? row.choices.join(', ') : `${row.type} ${formatRange(row)}`.trim();
}

/** Describe the limits of a number, if there are any. */
function formatRange({ minimum, maximum }: SettingsRow): string {
  if (minimum !== undefined && maximum !== undefined) {
    return l10n.t('from {0} to {1}', minimum, maximum);
  }
  if (minimum !== undefined) {
    return l10n.t('of at least {0}', minimum);
  }
  return maximum === undefined ? '' : l10n.t('of at most {0}', maximum);
}
