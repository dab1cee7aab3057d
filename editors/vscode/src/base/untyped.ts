/**
 * What VS Code reads or has at run time, and `@types/vscode` does not have. Each is used only where it exists; none of
 * it needs a proposed API.
 */
import * as vscode from 'vscode';

/** A setting of a model in VS Code's picker: a menu if it has `enum`. */
export interface ConfigurationProperty {
  type: 'string';
  title: string;
  enum: string[];
  enumItemLabels: string[];
  enumDescriptions: string[];
  default: string;
  group: 'navigation';
}

/** `LanguageModelChatInformation` with the keys that VS Code also reads. */
export interface ModelRow extends vscode.LanguageModelChatInformation {
  /** Only `false` hides a model; 1.120 hid those without it. */
  readonly isUserSelectable: boolean;
  /** New chats begin with this model. Read only for extensions with proposed interfaces; others get the first by name. */
  readonly isDefault?: boolean;
  readonly multiplierNumeric?: number;
  readonly configurationSchema?: { properties: Record<string, ConfigurationProperty> };
}

/** `ProvideLanguageModelChatResponseOptions` with what the user chose in the menus of `configurationSchema`. */
export interface ResponseOptions extends vscode.ProvideLanguageModelChatResponseOptions {
  readonly modelConfiguration?: Readonly<Record<string, unknown>>;
}

type ThinkingPart = new (value: string, id?: string, metadata?: object) => vscode.LanguageModelResponsePart;

const ThinkingPart = (vscode as { LanguageModelThinkingPart?: ThinkingPart }).LanguageModelThinkingPart;

/** Thinking that VS Code shows folded, or nothing where it has no such part. */
export function thinkingPart(text: string, id: string): vscode.LanguageModelResponsePart | undefined {
  return ThinkingPart && new ThinkingPart(text, id);
}

/** The end of the thinking, at which VS Code stops its spinner. */
export function thinkingEnd(): vscode.LanguageModelResponsePart | undefined {
  return ThinkingPart && new ThinkingPart('', '', { vscode_reasoning_done: true });
}

/** An image that was pasted or dropped into the chat: `ChatReferenceBinaryData`. */
interface BinaryData {
  mimeType: string;
  read(): Promise<Uint8Array>;
}

export function binaryData(value: unknown): BinaryData | undefined {
  const { mimeType, data } = (value ?? {}) as { mimeType?: unknown; data?: unknown };
  if (typeof mimeType !== 'string' || typeof data !== 'function') {
    return undefined;
  }
  return { mimeType, read: () => Promise.resolve(data.call(value) as Uint8Array | Promise<Uint8Array>) };
}

/** A result whose details VS Code shows below the answer: `ChatResult.details`. */
export function detailed(result: vscode.ChatResult, details: string): vscode.ChatResult {
  return { ...result, details } as vscode.ChatResult;
}

/** What the user chose for the model in the picker: `ChatRequest.modelConfiguration`. */
export function modelConfiguration(
  request: vscode.ChatRequest,
): Readonly<Record<string, unknown>> | undefined {
  return (request as { modelConfiguration?: Readonly<Record<string, unknown>> }).modelConfiguration;
}
