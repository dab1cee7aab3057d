import type {
  Block,
  ChatParams,
  DocumentBlock,
  ImageBlock,
  Message,
  TextBlock,
  Tool,
} from '../daemon/protocol';

/**
 * Converts messages of VS Code's language model API to messages of the protocol. Parts are recognized by shape instead of by
 * class, because VS Code uses undeclared classes: a tool result of a chat is not a `LanguageModelToolResultPart`.
 */

/** The roles of `LanguageModelChatMessageRole`, and one that only VS Code's own chat uses. */
const ROLE = { user: 1, assistant: 2, system: 3 };

interface MessageIn {
  readonly role: number;
  readonly content: string | readonly unknown[];
}

interface ToolIn {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object | undefined;
}

interface TextPart {
  value: string;
}

interface DataPart {
  mimeType: string;
  data: Uint8Array;
}

interface ToolCallPart {
  callId: string;
  name: string;
  input: unknown;
}

interface ToolResultPart {
  callId: string;
  content: readonly unknown[];
  isError?: boolean;
}

interface PromptTsxPart {
  value: object;
}

export type ReportSkipped = (what: string) => void;

/** Return the `messages` and `system` of a turn. Calls `reportSkipped` with a description of each part that is left out. */
export function convertConversation(
  messages: readonly MessageIn[],
  reportSkipped: ReportSkipped = () => undefined,
): Pick<ChatParams, 'messages' | 'system'> {
  const system: string[] = [];
  const sent: { role: Message['role']; content: Block[] }[] = [];
  const add = (role: Message['role'], block: Block) => {
    const last = sent.at(-1);
    if (last?.role === role) {
      last.content.push(block);
    } else {
      sent.push({ role, content: [block] });
    }
  };
  for (const message of messages) {
    const parts = typeof message.content === 'string' ? [{ value: message.content }] : message.content;
    if (message.role === ROLE.system) {
      system.push(joinText(parts, reportSkipped));
      continue;
    }
    const role = message.role === ROLE.assistant ? 'assistant' : 'user';
    // Keep messages of the same role separate: the daemon merges them, in the same way for every client.
    sent.push({ role, content: [] });
    for (const part of parts) {
      for (const block of convertPart(part, role, reportSkipped)) {
        add(roleOf(block, role), block);
      }
    }
  }
  const text = system.filter(Boolean).join('\n\n');
  return { messages: sent.filter(({ content }) => content.length), ...(text && { system: text }) };
}

export function convertTools(tools: readonly ToolIn[]): Tool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    ...(inputSchema && { parameters: inputSchema }),
  }));
}

/** Return the role for a block. Calls always belong to the assistant and results to the user; other blocks keep `role`. */
function roleOf(block: Block, role: Message['role']): Message['role'] {
  if (block.type === 'tool_use') {
    return 'assistant';
  }
  return block.type === 'tool_result' ? 'user' : role;
}

function convertPart(part: unknown, role: Message['role'], reportSkipped: ReportSkipped): Block[] {
  if (isToolResult(part)) {
    return [
      {
        type: 'tool_result',
        toolUseId: part.callId,
        content: part.content.some(isFile)
          ? part.content.flatMap((each) => convertResultPart(each, reportSkipped))
          : joinText(part.content, reportSkipped),
        ...(part.isError && { isError: true }),
      },
    ];
  }
  if (isToolCall(part)) {
    const input = part.input;
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    return [
      {
        type: 'tool_use',
        id: part.callId,
        name: part.name,
        arguments: isObject ? (input as Record<string, unknown>) : {},
      },
    ];
  }
  if (isFile(part)) {
    if (role === 'user') {
      return [convertFile(part)];
    }
    // eslint-disable-next-line no-restricted-syntax -- This is for the log.
    reportSkipped(`a file (${part.mimeType}) in an answer`);
    return [];
  }
  const text = joinText([part], reportSkipped);
  return text ? [{ type: 'text', text }] : [];
}

function convertResultPart(
  part: unknown,
  reportSkipped: ReportSkipped,
): (TextBlock | ImageBlock | DocumentBlock)[] {
  if (isFile(part)) {
    return [convertFile(part)];
  }
  const text = joinText([part], reportSkipped);
  return text ? [{ type: 'text', text }] : [];
}

/**
 * Return the text of the parts that contain text. Other parts are left out: thinking, which the daemon restores, and data
 * that VS Code itself and other extensions store in messages.
 */
function joinText(parts: readonly unknown[], reportSkipped: ReportSkipped): string {
  const texts = [];
  for (const part of parts) {
    if (isText(part)) {
      texts.push(part.value);
    } else if (isPromptTsx(part)) {
      texts.push(renderElement(part.value));
    } else if (isData(part) && isTextual(part.mimeType)) {
      texts.push(Buffer.from(part.data).toString('utf8'));
    } else {
      // eslint-disable-next-line no-restricted-syntax -- This is for the log.
      reportSkipped(isData(part) ? `data of the type ${part.mimeType}` : 'a part without text');
    }
  }
  return texts.join('');
}

function convertFile({ data, mimeType }: DataPart): ImageBlock | DocumentBlock {
  const type = mimeType.startsWith('image/') ? 'image' : 'document';
  return { type, source: Buffer.from(data).toString('base64'), mediaType: mimeType };
}

function isTextual(mimeType: string): boolean {
  return mimeType.startsWith('text/') || /^application\/([\w.-]+\+)?json\b/.test(mimeType);
}

/** Return the texts in a tree rendered by `@vscode/prompt-tsx`, with the line breaks that the tree contains. */
function renderElement(element: unknown): string {
  if (typeof element !== 'object' || element === null) {
    return '';
  }
  const { node, children, text, lineBreakBefore } = element as Record<string, unknown>;
  if (typeof text === 'string') {
    return lineBreakBefore ? `\n${text}` : text;
  }
  const inner = Array.isArray(children) ? children.map(renderElement).join('') : '';
  return node ? renderElement(node) : inner;
}

function isText(part: unknown): part is TextPart {
  // A thinking part has a `value` too, but it also has `metadata`.
  return has(part, 'value') && typeof part.value === 'string' && !('metadata' in part);
}

function isPromptTsx(part: unknown): part is PromptTsxPart {
  return has(part, 'value') && has(part.value, 'node');
}

function isData(part: unknown): part is DataPart {
  return has(part, 'mimeType') && typeof part.mimeType === 'string' && has(part, 'data');
}

/** Whether a part is an image or a PDF, which the daemon accepts directly. */
function isFile(part: unknown): part is DataPart {
  return isData(part) && (part.mimeType.startsWith('image/') || part.mimeType === 'application/pdf');
}

function isToolCall(part: unknown): part is ToolCallPart {
  return has(part, 'callId') && has(part, 'name') && has(part, 'input');
}

function isToolResult(part: unknown): part is ToolResultPart {
  return has(part, 'callId') && has(part, 'content') && Array.isArray(part.content);
}

function has<K extends string>(part: unknown, key: K): part is Record<K, unknown> {
  return typeof part === 'object' && part !== null && key in part;
}
