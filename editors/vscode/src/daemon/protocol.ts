/**
 * The part of the wire contract that this extension uses: `docs/protocol.md` of the repository, protocol version 1.
 * New keys, types and codes may appear at any time; a reader ignores what it does not know.
 */

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
  content?: string | TextBlock[];
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

export type ThinkingLevel = 'off' | 'low' | 'medium' | 'high';

/** What `chat/start` and `edit/start` share. */
export interface TurnParams {
  system?: string;
  model?: string;
  tools?: Tool[];
  toolChoice?: 'auto' | 'none' | 'required' | { name: string };
  maxTokens?: number;
  maxTokensDefault?: 'model';
  stopSequences?: string[];
  stream?: boolean;
  outputMode?: 'text' | 'json' | { schema: object };
  thinking?: ThinkingLevel;
  settings?: Record<string, unknown>;
  /** Made by the connection if absent. */
  turnId?: string;
  conversationId?: string;
  keep?: boolean;
  initiator?: 'user' | 'agent';
  workDoneToken?: string | number;
}

export interface ChatParams extends TurnParams {
  messages: Message[];
}

export interface EditParams extends TurnParams {
  target: ContextBlock;
  instruction: string;
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

/** The answer so far of a cancelled or failed turn: a result without `stopReason`. */
export interface PartialResult {
  turnId: string;
  provider: string;
  model: string;
  responseId?: string;
  conversationId?: string;
  content: Block[];
  text: string;
  toolCalls: ToolUseBlock[];
  usage?: Usage;
  warnings?: Warning[];
}

export interface ChatResult extends PartialResult {
  stopReason: string;
  rawStopReason?: string;
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
  providerCode?: string;
  /** Seconds. */
  retryAfter?: number;
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

export type Delta =
  | { type: 'start'; provider: string; model: string; conversationId?: string }
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
  | { type: 'done'; stopReason: string; usage?: Usage; error?: WireError; content?: Block[] };

export interface ChatDelta {
  requestId: string | number;
  turnId: string;
  seq: number;
  delta: Delta;
}

export interface ModelInfo {
  /** `provider:model`. */
  id: string;
  provider: string;
  model: string;
  name: string;
  family: string;
  version: string;
  vendor?: string;
  maxContextTokens?: number;
  maxPromptTokens?: number;
  maxOutputTokens?: number;
  supportsVision: boolean;
  supportsToolUse: boolean;
  supportsStreaming: boolean;
  supportsThinking: boolean;
  supportsJson: boolean;
  thinkingLevels?: string[];
  preview: boolean;
  deprecated: boolean;
  pickerEnabled: boolean;
  isDefault: boolean;
  policy?: 'enabled' | 'disabled' | 'unconfigured';
  /** Markdown. */
  policyTerms?: string;
  billing?: { isPremium?: boolean; multiplier?: number; tokenPrices?: Record<string, unknown> };
}

export interface Quota {
  name: string;
  unlimited: boolean;
  entitlement?: number;
  remaining?: number;
  percentRemaining: number;
  overagePermitted?: boolean;
  resetAt?: string;
}

export interface AuthStatus {
  provider: string;
  state: 'not_required' | 'configured' | 'signed_in' | 'not_authorized' | 'signed_out' | 'expired';
  login?: string;
  host?: string;
  plan?: string;
  source?: string;
  expiresAt?: string;
  chatEnabled?: boolean;
  quotas?: Quota[];
  message?: string;
}

export interface AuthPrompt {
  requestId: string | number;
  token?: string | number;
  provider: string;
  userCode: string;
  verificationUri: string;
  expiresAt: string;
  intervalSeconds: number;
}

export interface SettingsRow {
  key: string;
  order: number;
  type: 'string' | 'number' | 'integer' | 'boolean' | 'enum' | 'list' | 'map';
  description: string;
  default?: unknown;
  choices?: unknown[];
  minimum?: number;
  maximum?: number;
  optional: boolean;
  mapping: string;
}

export interface Provider {
  id: string;
  name: string;
  kind: string;
  isDefault: boolean;
  configured: boolean;
  authMethod?: 'device_code' | 'api_key' | 'none';
  auth: AuthStatus;
  capabilities: Record<string, boolean>;
  capabilitySources: Record<string, 'static' | 'config' | 'probe'>;
  settingsSchema: SettingsRow[];
}

/** What the daemon keeps for all clients, in the configuration's own snake_case. In params, `null` deletes. */
export interface SavedSettings {
  default_provider?: string | null;
  default_model?: string | null;
  max_tokens?: number | null;
  providers?: Record<string, Record<string, unknown> | null> | null;
}

export interface ConversationRow {
  id: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  model?: string;
  cwd?: string;
  client?: string;
  turns: number;
  forkOf?: string;
}

export interface Conversation extends ConversationRow {
  messages: Message[];
  system?: string;
  settings?: Record<string, unknown>;
}

export interface TranscriptTurn {
  role: 'user' | 'assistant';
  startLine: number;
  endLine: number;
  message?: number;
  thinking?: { startLine: number; endLine: number }[];
}

/** A conversation as a transcript has it. */
export interface TranscriptContent {
  messages: Message[];
  system?: string;
  model?: string;
  settings?: Record<string, unknown>;
  conversationId?: string;
}

export interface Diagnostic {
  range: Range;
  /** 1: error, 2: warning. */
  severity: 1 | 2;
  message: string;
  code?: string;
}

export interface PromptRow {
  name: string;
  description?: string;
  model?: string;
  usesInput: boolean;
}

export interface Prompt {
  name: string;
  text: string;
  system?: string;
  model?: string;
  settings?: Record<string, unknown>;
}

export interface InitializeParams {
  processId: number | null;
  rootUri: string | null;
  capabilities: object;
  clientInfo: { name: string; version?: string };
  workspaceFolders?: { uri: string; name: string }[] | null;
  initializationOptions?: {
    config?: object;
    protocolVersions?: number[];
    /** The minimum time between two deliveries of deltas of one chat. */
    coalesceMs?: number;
  };
}

export interface InitializeResult {
  serverInfo: { name: string; version: string };
  capabilities: {
    experimental?: {
      jumpseat?: { protocolVersion: number; methods: string[]; deltaTypes: string[]; blockTypes: string[] };
    };
  };
}

interface Call<P, R> {
  params: P;
  result: R;
}

/** The requests of a client, by method. */
export interface Requests {
  'chat/start': Call<ChatParams, ChatResult>;
  'chat/cancel': Call<{ turnId: string }, { cancelled: boolean }>;
  'edit/start': Call<EditParams, EditResult>;
  'chat/countTokens': Call<
    ChatParams & { allowEstimate?: boolean },
    { tokens: number; method: 'provider' | 'estimate' | 'unsupported' }
  >;
  'models/list': Call<
    { provider?: string; refresh?: boolean },
    { models: ModelInfo[]; errors: { provider: string; error: WireError }[] }
  >;
  'models/setPolicy': Call<{ model: string; state: 'enabled' }, { model: ModelInfo }>;
  'providers/list': Call<{ probe?: boolean }, { providers: Provider[] }>;
  'settings/get': Call<Record<string, never>, { settings: SavedSettings }>;
  'settings/save': Call<
    { settings: SavedSettings },
    { settings: SavedSettings; warnings?: { code: string; message: string }[] }
  >;
  'conversations/list': Call<
    { cwd?: string; query?: string; limit?: number; cursor?: string },
    { conversations: ConversationRow[]; nextCursor?: string }
  >;
  'conversations/get': Call<{ id: string }, Conversation>;
  'conversations/fork': Call<{ id: string; messages?: number }, ConversationRow>;
  'conversations/rename': Call<{ id: string; title: string }, ConversationRow>;
  'conversations/delete': Call<{ id: string }, { deleted: boolean }>;
  'transcript/parse': Call<{ text: string }, TranscriptContent & { turns: TranscriptTurn[] }>;
  'transcript/render': Call<TranscriptContent & { trimAnswers?: boolean }, { text: string }>;
  'transcript/check': Call<{ text: string }, { diagnostics: Diagnostic[] }>;
  'prompts/list': Call<Record<string, never>, { prompts: PromptRow[] }>;
  'prompts/get': Call<{ name: string; input?: string }, Prompt>;
  'auth/status': Call<{ provider?: string; refresh?: boolean }, AuthStatus>;
  'auth/signIn': Call<{ provider?: string; token?: string | number; openBrowser?: boolean }, AuthStatus>;
  'auth/signOut': Call<{ provider?: string }, AuthStatus>;
}

/** The notifications of the daemon, by method. */
export interface Notifications {
  'chat/delta': ChatDelta;
  '$/progress': {
    token: string | number;
    value: { kind: 'begin' | 'report' | 'end'; title?: string; message?: string; percentage?: number };
  };
  'window/showMessage': { type: 1 | 2 | 3 | 4; message: string };
  'models/didChange': { provider: string };
  'providers/didChange': Record<string, never>;
  'settings/didChange': { settings: SavedSettings };
  'conversations/didChange': { id?: string };
  'prompts/didChange': Record<string, never>;
  'auth/prompt': AuthPrompt;
  'auth/didChange': AuthStatus;
}
