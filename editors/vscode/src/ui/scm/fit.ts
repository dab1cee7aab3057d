/** A diff that fits the model, and the files that are left out of it. */
export interface Fitted {
  diff: string;
  leftOut: string[];
}

/** Leave the longest files out of a unified diff of Git until it has at most this many bytes. */
export function fitDiff(diff: string, mostBytes: number): Fitted {
  const files = diff.split(/^(?=diff --git )/m);
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

/** Return the name of a file from its part of the diff: its new name, if it was renamed. */
function nameOf(file: string): string {
  const renamed = /^rename to (.+)$/m.exec(file)?.[1];
  const both = /^diff --git (.+)$/m.exec(file)?.[1] ?? '';
  // Both names have the same length, except for renamed files. Their prefixes depend on the configuration of Git.
  return renamed ?? both.slice((both.length + 1) / 2).replace(/^[a-z]\//, '');
}
