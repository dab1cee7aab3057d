import type { Block, Message } from '../../daemon/protocol';

/** What the participant stores with each of its answers, so that the next turn sends exactly what was sent and received. */
export interface TurnRecord {
  /** The question as it was sent; empty if nothing was sent to a model. */
  user: Block[];
  assistant: Block[];
  conversationId?: string;
  /** The model refused: its words are left out of what is sent next. */
  refused?: boolean;
  /** The turn did not succeed. */
  failed?: boolean;
  stopReason?: string;
}

/** A past turn of a chat, as the editor shows it. */
export interface PastTurn {
  prompt: string;
  answer: string;
  record?: TurnRecord;
}

/** The key under which a record is in the metadata of a result. */
const KEY = 'jumpseat';

export function asMetadata(record: TurnRecord): Record<string, unknown> {
  return { [KEY]: record };
}

/** The record in the metadata of a result; absent if another version wrote something else there. */
export function recordIn(metadata: Readonly<Record<string, unknown>> | undefined): TurnRecord | undefined {
  const record = metadata?.[KEY];
  if (typeof record !== 'object' || record === null) {
    return undefined;
  }
  const { user, assistant } = record as Partial<TurnRecord>;
  return Array.isArray(user) && Array.isArray(assistant) ? (record as TurnRecord) : undefined;
}

function isSame(one: readonly Block[], other: readonly Block[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A turn that no model has seen: a list of prompts, a question that could not be sent. */
export const NOT_SENT: TurnRecord = { user: [], assistant: [] };

function questionOf(turn: PastTurn): Block[] {
  return turn.record?.user ?? [{ type: 'text', text: turn.prompt }];
}

function answerOf(turn: PastTurn): Block[] {
  return turn.record?.assistant ?? (turn.answer === '' ? [] : [{ type: 'text', text: turn.answer }]);
}

/** The conversation to send: the past turns, and the question. */
export function messagesOf(past: readonly PastTurn[], question: Block[]): Message[] {
  const messages: Message[] = [];
  const sent = past.filter((turn) => questionOf(turn).length > 0);
  for (const [index, turn] of sent.entries()) {
    const user = questionOf(turn);
    const assistant = answerOf(turn);
    const following = sent[index + 1];
    const isAskedAgain = isSame(user, following ? questionOf(following) : question);
    if (assistant.length === 0 && isAskedAgain) {
      continue;
    }
    messages.push({ role: 'user', content: user });
    if (assistant.length > 0 && turn.record?.refused !== true) {
      messages.push({ role: 'assistant', content: assistant });
    }
  }
  messages.push({ role: 'user', content: question });
  return messages;
}

/** The kept conversation that the chat belongs to. */
export function conversationOf(past: readonly PastTurn[]): string | undefined {
  return past.findLast((turn) => turn.record?.conversationId !== undefined)?.record?.conversationId;
}
