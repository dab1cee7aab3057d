import type { Block, Message } from '../../daemon/protocol';

/** The data that the participant stores with each answer, so that the next turn sends exactly the same blocks again. */
export interface TurnRecord {
  /** The question as it was sent; empty if nothing was sent to a model. */
  user: Block[];
  assistant: Block[];
  conversationId?: string;
  /** Whether the model refused to answer. Later turns do not send the refusal to the model. */
  refused?: boolean;
  /** Whether the turn failed. */
  failed?: boolean;
  stopReason?: string;
}

/** A past turn of a chat, as VS Code shows it. */
export interface PastTurn {
  prompt: string;
  answer: string;
  record?: TurnRecord;
}

/** The key of a record in a result's metadata. */
const KEY = 'jumpseat';

export function asMetadata(record: TurnRecord): Record<string, unknown> {
  return { [KEY]: record };
}

/** Return the record in a result's metadata, or undefined if there is none in this version's format. */
export function readRecord(metadata: Readonly<Record<string, unknown>> | undefined): TurnRecord | undefined {
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

/** The record of a turn that was not sent to a model: a list of prompts, or a question that could not be sent. */
export const NOT_SENT: TurnRecord = { user: [], assistant: [] };

function questionOf(turn: PastTurn): Block[] {
  return turn.record?.user ?? [{ type: 'text', text: turn.prompt }];
}

function answerOf(turn: PastTurn): Block[] {
  return turn.record?.assistant ?? (turn.answer === '' ? [] : [{ type: 'text', text: turn.answer }]);
}

/** Return the messages to send: the past turns and the question. */
export function buildMessages(past: readonly PastTurn[], question: Block[]): Message[] {
  const messages: Message[] = [];
  const sent = past.filter((turn) => questionOf(turn).length > 0);
  for (const [index, turn] of sent.entries()) {
    const user = questionOf(turn);
    const assistant = answerOf(turn);
    const following = sent[index + 1];
    const isAskedAgain = isSame(user, following ? questionOf(following) : question);
    if (assistant.length === 0 && isAskedAgain) {
      // Do not send a question twice if it got no answer and was then repeated.
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

/** Return the id of the kept conversation that the chat belongs to. */
export function findConversation(past: readonly PastTurn[]): string | undefined {
  return past.findLast((turn) => turn.record?.conversationId !== undefined)?.record?.conversationId;
}
