/** The content of conversations, and the params, deltas and results of turns. */
import type { ToolDelta } from './calls';

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Origin {
  provider: string;
  model: string;
}

interface BlockBase {
  origin?: Origin;
  opaque?: string;
}

export interface TextBlock extends BlockBase {
  type: 'text';
  text: string;
}

export interface ImageBlock extends BlockBase {
  type: 'image';
  /** Base64, a `data:` URL or an `https:` URL. */
  source: string;
  mediaType?: string;
}

export interface DocumentBlock extends BlockBase {
  type: 'document';
  /** In the same formats as the source of an image. */
  source: string;
  mediaType?: string;
  name?: string;
}

export interface ContextBlock extends BlockBase {
  type: 'context';
  text: string;
  uri?: string;
  languageId?: string;
  range?: Range;
  label?: string;
}

export interface ToolUseBlock extends BlockBase {
  type: 'tool_use';
  id: string;
  name: string;
  /** Null if the model's arguments could not be read. */
  arguments: Record<string, unknown> | null;
  raw?: string;
  error?: string;
}

export interface ToolResultBlock extends BlockBase {
  type: 'tool_result';
  toolUseId: string;
  content?: string | (TextBlock | ImageBlock | DocumentBlock)[];
  isError?: boolean;
}

export interface ThinkingBlock extends BlockBase {
  type: 'thinking';
  thinking: string;
  signature?: string;
}

export interface RedactedThinkingBlock extends BlockBase {
  type: 'redacted_thinking';
  data: string;
}

export interface OtherBlock extends BlockBase {
  type: 'other';
  kind: string;
  text?: string;
}

export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ContextBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | OtherBlock;

export interface Message {
  role: 'user' | 'assistant';
  content: string | Block[];
}

export interface Tool {
  name: string;
  description?: string;
  parameters?: object;
}

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'max';

/** The params common to `chat/start` and `edit/start`. */
export interface TurnParams {
  system?: string;
  model?: string;
  tools?: Tool[];
  toolChoice?: 'auto' | 'none' | 'required' | { name: string };
  maxTokens?: number;
  maxTokensDefault?: 'model';
  stopSequences?: string[];
  stream?: boolean;
  thinking?: ThinkingLevel;
  settings?: Record<string, unknown>;
  /** If absent, the connection generates one. */
  turnId?: string;
  conversationId?: string;
  keep?: boolean;
  /** Adds the rules of the workspace to the system prompt. The `start` delta lists their files in `rules`. */
  workspaceRules?: boolean;
  workDoneToken?: string | number;
}

/** The selection of tools that the daemon runs within a chat. */
export interface ToolParams {
  /** Selectors such as `files/*`. */
  daemonTools?: string[];
  /** `file:` URIs of the folders that the file tools may use. */
  workspaceFolders?: string[];
}

export interface ChatParams extends TurnParams, ToolParams {
  messages: Message[];
  transcript?: boolean;
}

export interface EditParams extends TurnParams {
  target: ContextBlock;
  instruction: string;
  /** Texts that the instruction may refer to. They precede the target in the prompt, and are not rewritten. */
  context?: ContextBlock[];
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheCreationTokens: number;
  reasoningTokens?: number;
  cost?: { amount: number; currency: string };
}

export interface Warning {
  code: string;
  message: string;
}

/** The answer received so far in a cancelled or failed turn: a result without `stopReason`. */
export interface PartialResult {
  turnId: string;
  provider: string;
  model: string;
  conversationId?: string;
  content: Block[];
  text: string;
  toolCalls: ToolUseBlock[];
  usage?: Usage;
  warnings?: Warning[];
}

export interface ChatResult extends PartialResult {
  stopReason: string;
}

export interface EditResult extends ChatResult {
  /** Absent if there is nothing to apply. */
  replacement?: string;
}

export interface ErrorData {
  kind: string;
  retryable: boolean;
  provider?: string;
  statusCode?: number;
  resetAt?: string;
  hint?: string;
  partial?: PartialResult;
  errors?: { path: string; message: string }[];
}

export interface WireError {
  code: number;
  message: string;
  data?: ErrorData;
}

/** `transcript` is the text to append to the answer's section in a chat with `transcript: true`. */
export type Delta = { transcript?: string } & (
  | { type: 'start'; provider: string; model: string; conversationId?: string; rules?: string[] }
  | { type: 'retry'; attempt: number; maxAttempts: number; delayMs: number; error: WireError }
  | { type: 'response'; model: string; id?: string; providerRequestId?: string }
  | ({ type: 'warning' } & Warning)
  | { type: 'text_start' | 'thinking_start'; block: number }
  | { type: 'text_delta' | 'thinking_delta'; block: number; text: string }
  | { type: 'text_done' | 'thinking_done' | 'block_done'; block: number; content: Block }
  | { type: 'tool_use_start'; block: number; id: string; name: string }
  | { type: 'tool_use_delta'; block: number; argumentDelta: string }
  | { type: 'tool_use_done'; block: number; content: ToolUseBlock }
  | { type: 'citation'; block?: number; url?: string; title?: string }
  | { type: 'usage'; usage: Usage }
  | ToolDelta
  | { type: 'done'; stopReason: string; usage?: Usage; error?: WireError; content?: Block[] }
);

export interface ChatDelta {
  requestId: string | number;
  turnId: string;
  delta: Delta;
}
