/** Escape text so that Markdown, its math and VS Code's icons do not apply to it. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]()#+\-.!|<>$~]/g, '\\$&');
}

/** Format text as code within a line. */
export function asCode(text: string): string {
  const marks = '`'.repeat(longestRun(text) + 1);
  const space = marks.length > 1 ? ' ' : '';
  return `${marks}${space}${text}${space}${marks}`;
}

/** Format text as a code block. */
export function fence(text: string, language: string): string {
  const marks = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${marks}${language}\n${text}\n${marks}\n`;
}

/** Return the length of the longest run of backticks, which the marks around the text must exceed. */
function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((each) => each.length));
}
