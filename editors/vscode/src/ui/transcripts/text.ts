import type { Block } from '../../daemon/protocol';
import type { Span } from '../text/tracked';

/** Return the length of the front matter including its two `---` lines, or 0 if there is none. */
export function frontMatterLength(text: string): number {
  return /^---\r?\n(?:(?!---\r?\n).*\r?\n)*---(?:\r?\n|$)/.exec(text)?.[0].length ?? 0;
}

/** Return a rendered transcript without its front matter, the blank lines after that, and its last line ending. */
export function bodyOf(text: string): string {
  return text.slice(frontMatterLength(text)).replace(/^\n+/, '').replace(/\n$/, '');
}

/** Extract the headings, which the configuration may rename, from a transcript with one message of each role. */
export function headingsIn(rendered: string): { user: string; assistant: string } {
  const [user, assistant] = rendered.split('\n').filter((line) => line.startsWith('## '));
  return { user: user ?? USUAL_HEADINGS.user, assistant: assistant ?? USUAL_HEADINGS.assistant };
}

/** The headings if the configuration does not rename them. */
export const USUAL_HEADINGS = { user: '## Me', assistant: '## Assistant' };

/** Return the id of the kept conversation that a transcript belongs to. */
export function conversationIdIn(text: string): string | undefined {
  return /^conversation: *["']?([\w.-]+)/m.exec(text.slice(0, frontMatterLength(text)))?.[1];
}

/**
 * Whether a Markdown text is a transcript: its front matter names a conversation, or has another key of chats and is
 * followed by one of the given headings. A heading alone is not enough, because a personal page may start with "Me".
 */
export function looksLikeTranscript(text: string, headings: ReadonlySet<string>): boolean {
  const length = frontMatterLength(text);
  const head = text.slice(0, length);
  const first = text.slice(length, length + 200).split('\n');
  return (
    conversationIdIn(head) !== undefined ||
    (/^(model|system|settings):/m.test(head) && first.some((line) => headings.has(line.trim())))
  );
}

/** Return the span that an answer replaces: the blank lines after the last character of the question. */
export function endOfText(text: string): Span {
  return { start: text.trimEnd().length, end: text.length };
}

/** Return the text of a question; undefined unless the question consists of a single text. */
export function onlyText(content: string | readonly Block[]): string | undefined {
  if (typeof content === 'string') {
    return content;
  }
  const [first, ...others] = content;
  return first?.type === 'text' && others.length === 0 ? first.text : undefined;
}
