/** A diff that fits the model, and the files that are left out of it. */
export interface Fitted {
  diff: string;
  leftOut: string[];
}

/** Leave the longest files out of a unified diff of Git until it has at most this many bytes. */
export function fitDiff(diff: string, mostBytes: number): Fitted {
  const files = diff.split(/^(?=diff --(?:git|cc|combined) )/m);
  const sizes = files.map((file, index) => ({ index, bytes: Buffer.byteLength(file) }));
  const kept = new Set<number>();
  let bytes = 0;
  for (const file of sizes.toSorted((a, b) => a.bytes - b.bytes)) {
    bytes += file.bytes;
    if (bytes > mostBytes) {
      break;
    }
    kept.add(file.index);
  }
  return {
    diff: files.filter((_, index) => kept.has(index)).join(''),
    leftOut: files.filter((_, index) => !kept.has(index)).map(nameOf),
  };
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
