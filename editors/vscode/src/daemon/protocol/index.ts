/**
 * The part of the protocol (version 1) that this extension uses. `docs/protocol/` in the repository describes it.
 * New keys, types and codes may appear at any time; clients ignore unknown ones.
 */
import type { Completion, CompletionParams } from './completions';
import type { ChatDelta, ChatParams, ChatResult, EditParams, EditResult, WireError } from './content';
import type {
  AuthPrompt,
  AuthStatus,
  Check,
  Conversation,
  ConversationRow,
  Diagnostic,
  ModelInfo,
  Prompt,
  PromptParams,
  PromptRow,
  Provider,
  SavedSettings,
  Template,
  TranscriptContent,
  TranscriptTurn,
} from './lists';
import type { ToolDecision, ToolOutput, ToolRow, ToolRun, ToolServerRow } from './tools';

export type * from './calls';
export type * from './completions';
export type * from './content';
export type * from './lists';
export type * from './tools';

export interface InitializeParams {
  processId: number | null;
  rootUri: string | null;
  capabilities: object;
  clientInfo: { name: string; version?: string };
  workspaceFolders?: { uri: string; name: string }[] | null;
  initializationOptions?: {
    config?: object;
    protocolVersions?: number[];
    /** The minimum time in milliseconds between two deliveries of deltas of one chat. */
    coalesceMs?: number;
    /** The client's commands by purpose, as users enter them. The daemon's hints name these commands. */
    commands?: Record<string, string>;
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

/** The requests of clients, by method. */
export interface Requests {
  'chat/start': Call<ChatParams, ChatResult>;
  'edit/start': Call<EditParams, EditResult>;
  'complete/start': Call<CompletionParams, Completion>;
  'tools/run': Call<ToolRun, ToolOutput>;
  'tools/decide': Call<ToolDecision, { decided: boolean }>;
  'tools/list': Call<{ refresh?: boolean }, { tools: ToolRow[]; servers: ToolServerRow[] }>;
  'models/list': Call<
    { provider?: string; refresh?: boolean },
    { models: ModelInfo[]; errors: { provider: string; error: WireError }[] }
  >;
  'models/setPolicy': Call<{ model: string; state: 'enabled' }, { model: ModelInfo }>;
  'providers/list': Call<{ probe?: boolean }, { providers: Provider[] }>;
  'providers/templates': Call<Record<string, never>, { templates: Template[] }>;
  'providers/add': Call<{ id: string; kind: string; values: Record<string, string> }, { provider: Provider }>;
  'providers/diagnose': Call<{ provider: string }, { checks: Check[] }>;
  'keys/set': Call<
    { provider: string; key: string },
    { stored?: 'keyring' | 'file'; test?: { ok: boolean; error?: WireError } }
  >;
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
  'prompts/get': Call<PromptParams, Prompt>;
  'auth/status': Call<{ provider?: string; refresh?: boolean }, AuthStatus>;
  'auth/signIn': Call<{ provider?: string; token?: string | number; openBrowser?: boolean }, AuthStatus>;
  'auth/signOut': Call<{ provider?: string }, AuthStatus>;
}

/** The requests for which the daemon sends deltas. */
export type TurnMethod = 'chat/start' | 'edit/start' | 'tools/run';

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
  'auth/prompt': AuthPrompt;
  'auth/didChange': AuthStatus;
}
