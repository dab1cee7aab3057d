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
    throw new TypeError(`${text} is not of type ${type}`);
  }
  return value;
}

/** Return the mistake in the text that a user entered for a row, or undefined. The daemon checks the rest. */
export function findMistake(row: SettingsRow, text: string): string | undefined {
  if (text.trim() === '') {
    return row.optional ? undefined : 'This must not be empty.';
  }
  let value: unknown;
  try {
    value = parseValue(row, text.trim());
  } catch {
    return `This must be of type ${row.type}.`;
  }
  const { minimum = -Infinity, maximum = Infinity } = row;
  return typeof value === 'number' && (value < minimum || value > maximum)
    ? `This must be ${formatRule(row)}.`
    : undefined;
}

/** Describe the values that a row allows. */
export function formatRule({ type, minimum, maximum, choices }: SettingsRow): string {
  if (choices) {
    return choices.join(', ');
  }
  if (minimum !== undefined && maximum !== undefined) {
    return `${type}, ${minimum} to ${maximum}`;
  }
  return minimum === undefined ? type : `${type}, at least ${minimum}`;
}
