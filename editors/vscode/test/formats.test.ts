import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';

import { env } from 'vscode';

import { formatDate, formatMoney, formatNumber } from '../src/base/formats';

function useLanguage(language: string): void {
  (env as { language: string }).language = language;
}

afterEach(() => {
  useLanguage('en');
});

/** Replace the no-break spaces of some languages. */
function plain(text: string): string {
  return text.replaceAll('\u00a0', ' ');
}

test('numbers follow the language', () => {
  assert.equal(formatNumber(12_345.5), '12,345.5');
  useLanguage('de');
  assert.equal(formatNumber(12_345.5), '12.345,5');
});

test('amounts follow the language, and small ones have more digits', () => {
  const amounts = (): string[] => [
    plain(formatMoney(1234.5, 'USD')),
    plain(formatMoney(0.00314, 'USD')),
    formatMoney(0, 'AI Credits'),
  ];
  assert.deepEqual(amounts(), ['$1,234.50', '$0.0031', '0.00 AI Credits']);
  useLanguage('de');
  assert.deepEqual(amounts(), ['1.234,50 $', '0,0031 $', '0,00 AI Credits']);
});

test('dates follow the language', () => {
  assert.equal(formatDate('2026-12-01T00:00:00Z', 'UTC'), 'Dec 1, 2026');
  useLanguage('de');
  assert.equal(formatDate('2026-12-01T00:00:00Z', 'UTC'), '01.12.2026');
});
