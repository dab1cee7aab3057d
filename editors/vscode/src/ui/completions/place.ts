import type { CompletionParams } from '../../daemon/protocol';

/** The maximum number of characters sent from each side of the cursor. The daemon may send fewer to the model. */
export const MOST_CHARACTERS = 100_000;

/** How much a completion may write: the rest of a line, or several lines. */
export type Extent = 'line' | 'block';

/** Split a text at the cursor. If other text follows the cursor in its line, only that line is completed. */
export function splitAt(
  text: string,
  offset: number,
  extent: Extent,
): Pick<CompletionParams, 'prefix' | 'suffix' | 'extent'> {
  const suffix = text.slice(offset, offset + MOST_CHARACTERS);
  const rest = /^[^\r\n]*/.exec(suffix)?.[0] ?? '';
  return {
    prefix: text.slice(Math.max(offset - MOST_CHARACTERS, 0), offset),
    suffix,
    extent: rest.trim() === '' ? extent : 'line',
  };
}

/** Whether the cursor is within a word or just before one. An automatic completion there would disturb the user. */
export function isWithinWord(text: string, offset: number): boolean {
  return /^[\p{L}\p{N}_]/u.test(text.slice(offset, offset + 2));
}
