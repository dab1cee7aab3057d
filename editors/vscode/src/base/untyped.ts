/**
 * Properties and classes that VS Code has at run time but `@types/vscode` does not declare. Each is used only if it
 * exists. Only `isDefault` depends on proposed APIs: VS Code ignores this key unless the extension is allowed to use such
 * APIs.
 */
import * as vscode from 'vscode';

/** A setting of a model in VS Code's picker, which shows the setting as a menu with the values of `enum`. */
export interface ConfigurationProperty {
  type: 'string';
  title: string;
  enum: string[];
  enumItemLabels: string[];
  enumDescriptions: string[];
  default: string;
  group: 'navigation';
}

/** `LanguageModelChatInformation` with the undeclared keys that VS Code reads. */
export interface ModelRow extends vscode.LanguageModelChatInformation {
  /** Only `false` hides a model, except that VS Code 1.120 hid models without this key. */
  readonly isUserSelectable: boolean;
  /** Whether new chats start with this model, not with the model whose name comes first. */
  readonly isDefault?: boolean;
  readonly multiplierNumeric?: number;
  readonly configurationSchema?: { properties: Record<string, ConfigurationProperty> };
}

/** `ProvideLanguageModelChatResponseOptions` with the user's choices in the menus of `configurationSchema`. */
export interface ResponseOptions extends vscode.ProvideLanguageModelChatResponseOptions {
  readonly modelConfiguration?: Readonly<Record<string, unknown>>;
}

type ThinkingPart = new (value: string, id?: string, metadata?: object) => vscode.LanguageModelResponsePart;

const ThinkingPart = (vscode as { LanguageModelThinkingPart?: ThinkingPart }).LanguageModelThinkingPart;

/** Create a part for thinking, which VS Code folds. Returns undefined if this VS Code has no such part. */
export function thinkingPart(text: string, id: string): vscode.LanguageModelResponsePart | undefined {
  return ThinkingPart && new ThinkingPart(text, id);
}

/** Create the part that ends the thinking, at which VS Code stops its spinner. */
export function thinkingEnd(): vscode.LanguageModelResponsePart | undefined {
  return ThinkingPart && new ThinkingPart('', '', { vscode_reasoning_done: true });
}

/** An image that the user pasted or dropped into the chat: `ChatReferenceBinaryData`. */
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

/** Return a result with the details that VS Code shows below the answer: `ChatResult.details`. */
export function addDetails(result: vscode.ChatResult, details: string): vscode.ChatResult {
  return { ...result, details } as vscode.ChatResult;
}

/** Return the user's choices for the model in the picker: `ChatRequest.modelConfiguration`. */
export function modelConfiguration(
  request: vscode.ChatRequest,
): Readonly<Record<string, unknown>> | undefined {
  return (request as { modelConfiguration?: Readonly<Record<string, unknown>> }).modelConfiguration;
}
