import { l10n } from 'vscode';

import { formatNumber } from '../../base/formats';
import type { FileDiff, Remember, ToolApproval, ToolResultBlock } from '../../daemon/protocol';
import { computeDiff } from '../text/diff';
import { asCode, escapeMarkdown, fence } from '../text/markdown';

/** The maximum number of lines of a diff in the chat. "Show Diff" shows the whole diff. */
const MAX_LINES = 30;
/** The maximum number of characters of an argument in the line about a call. */
const LONGEST_VALUE = 60;

const REASONS: Record<string, string> = {
  rule: l10n.t('A rule of your configuration asks about each call.'),
  changed: l10n.t('The tool has changed since you allowed it.'),
  outside: l10n.t('It uses a path outside the workspace.'),
};

/** A decision that the user can choose for a call that waits for approval. */
export interface Choice {
  title: string;
  decision: 'allow' | 'deny';
  remember?: Remember;
  /** Whether to ask for a reason, which is sent to the model. */
  explains?: boolean;
}

export const ALLOW: Choice = { title: l10n.t('Allow'), decision: 'allow' };
export const DENY: Choice = { title: l10n.t('Deny'), decision: 'deny' };

/** Return the possible decisions about a call, starting with those that allow it. */
export function listChoices({ remember }: ToolApproval): Choice[] {
  const choices = [ALLOW];
  if (remember.includes('conversation')) {
    choices.push({ ...ALLOW, title: l10n.t('Allow in This Conversation'), remember: 'conversation' });
  } else if (remember.includes('turn')) {
    choices.push({ ...ALLOW, title: l10n.t('Allow in This Answer'), remember: 'turn' });
  }
  if (remember.includes('always')) {
    choices.push({ ...ALLOW, title: l10n.t('Always Allow'), remember: 'always' });
  }
  return [...choices, DENY, { ...DENY, title: l10n.t('Deny and Say Why…'), explains: true }];
}

/** Return why the daemon asks, unless it asks simply because no rule allows the call. */
export function explainReason({ reason }: ToolApproval): string | undefined {
  return REASONS[reason];
}

/** Format a request for approval as Markdown: its title, the reason, and its diff or its arguments. */
export function formatApproval(approval: ToolApproval): string {
  const reason = explainReason(approval);
  const heading = `**${escapeMarkdown(approval.title)}**${reason === undefined ? '' : ` · ${reason}`}`;
  const details = approval.diff ? approval.diff.map(formatDiff).join('\n') : formatArguments(approval);
  return `${heading}\n\n${details}`;
}

/** Format a change of a file as a code block. */
export function formatDiff({ oldText, newText }: Omit<FileDiff, 'uri'>): string {
  const { lines, omitted } = computeDiff(oldText, newText, MAX_LINES);
  const more = omitted === 1 ? l10n.t('… 1 more line') : l10n.t('… {0} more lines', formatNumber(omitted));
  return fence([...lines, ...(omitted === 0 ? [] : [more])].join('\n'), 'diff');
}

function formatArguments({ arguments: values, title }: ToolApproval): string {
  const texts = Object.entries(values).map(([key, value]) => `${key}: ${toText(value)}`);
  // The title of a file tool may already contain all arguments.
  const isInTitle = Object.values(values).every((value) => title.includes(toText(value)));
  return isInTitle ? '' : fence(texts.join('\n'), '');
}

/** Describe a call in one line: the tool and its arguments, shortened. */
export function describeCall(name: string, values: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(values).map(([key, value]) => `${key}=${shorten(toText(value))}`);
  return [name, ...texts].join(' ');
}

/**
 * Format the line about a call that has ended, as Markdown. Uses ✓ and ✗ because screen readers would read out the names
 * of VS Code's icons.
 */
export function formatOutcome(
  name: string,
  values: Readonly<Record<string, unknown>>,
  result: ToolResultBlock,
  isDenied: boolean,
): string {
  const mark = result.isError === true ? '✗' : '✓';
  return `${mark} ${asCode(describeCall(name, values))} · ${escapeMarkdown(describeResult(result, isDenied))}`;
}

function describeResult({ content = '', isError }: ToolResultBlock, isDenied: boolean): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
  const lines = text.trim().split('\n');
  const first = shorten(lines[0] ?? '', 200);
  if (isError === true) {
    if (first === '') {
      return l10n.t('failed');
    }
    return isDenied ? first : l10n.t('failed: {0}', first);
  }
  return lines.length > 1 ? l10n.t('{0} lines', formatNumber(lines.length)) : first || l10n.t('no output');
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Shorten text to a part of a line, without characters that could hide or reorder other ones. */
function shorten(text: string, longest = LONGEST_VALUE): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}]/gu, '');
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
