import { l10n } from 'vscode';

/** The most files that the model and the user are told about if they are left out. */
const MOST_NAMES = 20;

/** A diff that fits the model. */
export interface Fitted {
  diff: string;
  /** The file at whose beginning the diff ends, if no file fits as a whole. */
  cutOff?: string;
  /** The files that the diff lacks altogether. */
  leftOut: string[];
}

/**
 * Leave the longest files out of a unified diff of Git until it has at most this many bytes. If no file fits, the
 * beginning of the shortest one remains, in whole lines.
 */
export function fitDiff(diff: string, mostBytes: number): Fitted {
  const files = diff.split(/^(?=diff --(?:git|cc|combined) )/m).map((text, index) => ({ index, text }));
  const bySize = files.toSorted((a, b) => Buffer.byteLength(a.text) - Buffer.byteLength(b.text));
  const kept = new Set<number>();
  let bytes = 0;
  for (const { index, text } of bySize) {
    bytes += Buffer.byteLength(text);
    if (bytes > mostBytes) {
      break;
    }
    kept.add(index);
  }
  const [shortest] = bySize;
  if (kept.size === 0 && shortest) {
    const others = files.filter((file) => file !== shortest);
    return {
      diff: cutAtLine(shortest.text, mostBytes),
      cutOff: nameOf(shortest.text),
      leftOut: others.map(({ text }) => nameOf(text)),
    };
  }
  const textsOf = (isKept: boolean): string[] =>
    files.filter(({ index }) => kept.has(index) === isKept).map(({ text }) => text);
  return { diff: textsOf(true).join(''), leftOut: textsOf(false).map(nameOf) };
}

/** Describe what a diff lacks, to the user and to the model. Returns undefined if it lacks nothing. */
export function describeRest({ cutOff, leftOut }: Fitted): { warning: string; note: string } | undefined {
  const names = leftOut.slice(0, MOST_NAMES).join(', ') + (leftOut.length > MOST_NAMES ? ', …' : '');
  // eslint-disable-next-line no-restricted-syntax -- The model reads this.
  const note = `These files have changed too, but their diffs are too long: ${names}`;
  if (cutOff === undefined) {
    const warning = l10n.t('The diff is too long for the model. These files are left out: {0}', names);
    return leftOut.length === 0 ? undefined : { warning, note };
  }
  // eslint-disable-next-line no-restricted-syntax -- The model reads this.
  const end = `The diff of ${cutOff} is too long, so it is cut off here.`;
  if (leftOut.length === 0) {
    const warning = l10n.t('The diff of {0} is too long for the model. Only its beginning is used.', cutOff);
    return { warning, note: end };
  }
  const warning = l10n.t(
    'The diff is too long for the model. Only the beginning of {0} is used, and these files are left out: {1}',
    cutOff,
    names,
  );
  return { warning, note: `${end}\n${note}` };
}

/** Return the whole lines at the beginning of a text that have at most this many bytes. */
function cutAtLine(text: string, mostBytes: number): string {
  const beginning = Buffer.from(text).subarray(0, mostBytes);
  return beginning.toString('utf8', 0, beginning.lastIndexOf('\n') + 1);
}

/** Return the name of a file from its part of the diff: its new name, if it was renamed or copied. */
function nameOf(file: string): string {
  const renamed = /^(?:rename|copy) to (.+)$/m.exec(file)?.[1];
  const [, kind, names = ''] = /^diff --(git|cc|combined) (.+)$/m.exec(file) ?? [];
  if (renamed !== undefined || kind !== 'git') {
    return unquote(renamed ?? names);
  }
  // Both names have the same length, except for renamed files. With `diff.noprefix` they are equal.
  const middle = (names.length - 1) / 2;
  const [before, after] = [names.slice(0, middle), names.slice(middle + 1)];
  return before === after ? unquote(after) : unquote(after).replace(/^[a-z]\//, '');
}

const ESCAPES: Record<string, string> = { a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r' };

/** Return a name that Git has quoted like a string of C, with the bytes of other characters than ASCII in octal. */
function unquote(name: string): string {
  if (!name.startsWith('"')) {
    return name;
  }
  // In Latin-1, each byte is one character.
  const quoted = Buffer.from(name.slice(1, -1)).toString('latin1');
  const bytes = quoted.replaceAll(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES[code] ?? code),
  );
  return Buffer.from(bytes, 'latin1').toString();
}
