import type { Block, ContextBlock, ImageBlock } from '../../daemon/protocol';

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** Return the media type of an image file by its extension. */
export function imageType(path: string): string | undefined {
  return IMAGES[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''];
}

export function imageBlock(data: Uint8Array, mediaType: string): ImageBlock {
  return { type: 'image', source: Buffer.from(data).toString('base64'), mediaType };
}

/** List the contents of a directory, directories first. */
export function directoryBlock(
  uri: string,
  entries: readonly { name: string; isDirectory: boolean }[],
): ContextBlock {
  const lines = entries
    .toSorted((a, b) => Number(b.isDirectory) - Number(a.isDirectory) || a.name.localeCompare(b.name))
    .map((each) => `${each.name}${each.isDirectory ? '/' : ''}\n`);
  // eslint-disable-next-line no-restricted-syntax -- The model reads this.
  return { type: 'context', uri, label: 'directory', text: lines.join('') };
}

/** Return the blocks of a question: the attachments without duplicates, then the text. */
export function questionBlocks(attached: readonly Block[], text: string): Block[] {
  const seen = new Set<string>();
  const once = attached.filter((block) => {
    const key = JSON.stringify(block);
    return !seen.has(key) && seen.add(key);
  });
  return [...once, { type: 'text', text }];
}
