/** Models, providers with their accounts, saved settings, kept conversations, transcripts and prompts. */
import type { Message, Range } from './content';

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
  maxPromptImages?: number;
  supportsVision: boolean;
  supportsToolUse: boolean;
  supportsParallelToolCalls?: boolean;
  supportsStreaming: boolean;
  supportsThinking: boolean;
  supportsJson: boolean;
  /** Whether the model can fill in the middle of a text; absent if that is unknown. */
  supportsInfill?: boolean;
  thinkingLevels?: string[];
  preview: boolean;
  deprecated: boolean;
  pickerEnabled: boolean;
  isDefault: boolean;
  policy?: 'enabled' | 'disabled' | 'unconfigured';
  /** Markdown. */
  policyTerms?: string;
  billing?: {
    isPremium?: boolean;
    multiplier?: number;
    tokenPrices?: Record<string, unknown>;
    restrictedTo?: string[];
  };
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
  plan?: string;
  source?: string;
  quotas?: Quota[];
  message?: string;
}

export interface AuthPrompt {
  requestId: string | number;
  token?: string | number;
  provider: string;
  /** Absent for a sign-in to an MCP server. */
  userCode?: string;
  verificationUri: string;
  /** The host of the page, for a sign-in to an MCP server. */
  host?: string;
  expiresAt: string;
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

/** A provider that can be added, with the fields of its form. */
export interface Template {
  id: string;
  title: string;
  kind: string;
  needsKey: boolean;
  fields: SettingsRow[];
}

/** One check of a provider. `ok` is null if it was inconclusive. */
export interface Check {
  name: string;
  ok: boolean | null;
  message: string;
  hint?: string;
}

/**
 * The settings that the daemon saves for all clients. The keys are in snake_case, as in the configuration file. In params,
 * `null` deletes a setting.
 */
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

/** One section of a transcript. Lines are counted from 0; `endLine` is exclusive. */
export interface TranscriptTurn {
  role: 'user' | 'assistant';
  startLine: number;
  endLine: number;
  /** The index of the section's message in the transcript's `messages`. */
  message?: number;
  thinking?: { startLine: number; endLine: number }[];
}

/** The conversation in a transcript. */
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

export interface PromptParams {
  name: string;
  input?: string;
  /** The model for the question. It overrides the prompt's own model. */
  model?: string;
  /** The model for the question if the prompt has none of its own. */
  defaultModel?: string;
}

export interface Prompt {
  name: string;
  text: string;
  system?: string;
  model?: string;
  settings?: Record<string, unknown>;
  warnings?: { code: string; message: string }[];
}
