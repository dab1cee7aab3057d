/** Numbers, amounts and dates in VS Code's language. */
import { env } from 'vscode';

export function formatNumber(value: number): string {
  return value.toLocaleString(env.language);
}

/** Format an amount of money. Amounts below 1 get more decimal places. */
export function formatMoney(amount: number, currency: string): string {
  const digits = amount >= 1 || amount === 0 ? 2 : 4;
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  // A provider may count in a unit of its own, whose name is not a currency code.
  return currency === 'USD'
    ? amount.toLocaleString(env.language, { ...format, style: 'currency', currency })
    : `${amount.toLocaleString(env.language, format)} ${currency}`;
}

/** Format the day of an RFC 3339 time, in the user's time zone unless another one is given. */
export function formatDate(time: string, timeZone?: 'UTC'): string {
  return new Date(time).toLocaleDateString(env.language, { dateStyle: 'medium', timeZone });
}
