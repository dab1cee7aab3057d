import { l10n } from 'vscode';

import type { SettingsRow } from '../../daemon/protocol';

/** Return the value that a user entered for a row. Throws if it is not of the row's type. */
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

/** Return the mistake in the text that a user entered for a row, or undefined. The daemon checks the rest. */
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
    ? l10n.t('This must be {0}.', formatRule(row))
    : undefined;
}

/** Describe the values that a row allows. */
export function formatRule({ type, minimum, maximum, choices }: SettingsRow): string {
  if (choices) {
    return choices.join(', ');
  }
  if (minimum !== undefined && maximum !== undefined) {
    return l10n.t('{0}, {1} to {2}', type, minimum, maximum);
  }
  return minimum === undefined ? type : l10n.t('{0}, at least {1}', type, minimum);
}
