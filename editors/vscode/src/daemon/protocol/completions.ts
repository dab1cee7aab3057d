/** Completions: text that a model fills in at one position of a document. */
import type { Usage } from './content';

export interface CompletionParams {
  prefix: string;
  suffix?: string;
  model?: string;
  extent?: 'line' | 'block';
  maxTokens?: number;
  stopSequences?: string[];
  languageId?: string;
  uri?: string;
}

export interface Completion {
  provider: string;
  model: string;
  /** The text to insert; may be empty. */
  text: string;
  stopReason: string;
  usage?: Usage;
}
