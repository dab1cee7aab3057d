import type { Block } from '../../daemon/protocol';
import type { Span } from '../text/tracked';

/** The length of the front matter with its two `---` and the line end; 0 if there is none. */
export function frontMatterLength(text: string): number {
  return /^---\r?\n(?:(?!---\r?\n).*\r?\n)*---(?:\r?\n|$)/.exec(text)?.[0].length ?? 0;
}

/** What a rendered transcript has below its front matter, without the line end at its end. */
export function bodyOf(text: string): string {
  return text.slice(frontMatterLength(text)).replace(/^\n+/, '').replace(/\n$/, '');
}

/** The headings of both roles, from a rendered message of each: the configuration may rename them. */
export function headingsIn(rendered: string): { user: string; assistant: string } {
  const [user, assistant] = rendered.split('\n').filter((line) => line.startsWith('## '));
  return { user: user ?? USUAL_HEADINGS.user, assistant: assistant ?? USUAL_HEADINGS.assistant };
}

/** The headings where the configuration renames none. */
export const USUAL_HEADINGS = { user: '## Me', assistant: '## Assistant' };

/** The id of the kept conversation that a transcript belongs to. */
export function conversationIdIn(text: string): string | undefined {
  return /^conversation: *["']?([\w.-]+)/m.exec(text.slice(0, frontMatterLength(text)))?.[1];
}

/**
 * Whether a Markdown text is a transcript: its front matter has a key of chats, and it begins with one of these headings.
 * A heading alone is not enough, because a page about its author may begin with "Me".
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

/** Where the answer belongs: behind the last character of the question, instead of the blank lines there. */
export function endOfText(text: string): Span {
  return { start: text.trimEnd().length, end: text.length };
}

/** The text of a question that is nothing but text. */
export function onlyText(content: string | readonly Block[]): string | undefined {
  if (typeof content === 'string') {
    return content;
  }
  const [first, ...others] = content;
  return first?.type === 'text' && others.length === 0 ? first.text : undefined;
}
