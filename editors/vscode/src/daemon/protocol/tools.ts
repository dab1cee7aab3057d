/** Tools that the daemon runs: requests about them, and the requests that the daemon sends to the client. */
import type { Remember } from './calls';
import type { DocumentBlock, ImageBlock, Range, TextBlock } from './content';

export interface ToolDecision {
  turnId: string;
  toolUseId: string;
  decision: 'allow' | 'deny';
  remember?: Remember;
  /** The user's reason for a denial, which the model reads. */
  message?: string;
}

/** One call outside a chat. */
export interface ToolRun {
  server: string;
  tool: string;
  arguments: object;
  turnId?: string;
  conversationId?: string;
  workspaceFolders?: string[];
}

export interface ToolOutput {
  content: string | (TextBlock | ImageBlock | DocumentBlock)[];
  isError?: boolean;
}

export interface ToolRow {
  server: string;
  tool: string;
  title?: string;
  description: string;
  decision: 'allow' | 'ask' | 'deny';
  /** An estimate of the tokens that the tool's definition costs in each request. */
  tokens: number;
}

export interface ToolServerRow {
  name: string;
  state: 'stopped' | 'starting' | 'running' | 'failed' | 'untrusted' | 'needs_sign_in';
  error?: string;
}

/** The edits of documents, as in LSP. The version is null for a file that is not open. */
export interface WorkspaceEdit {
  documentChanges: {
    textDocument: { uri: string; version: number | null };
    edits: { range: Range; newText: string }[];
  }[];
}

/** The requests that the daemon sends, by method. */
export interface DaemonRequests {
  'workspace/unsaved': {
    params: { uris?: string[] };
    result: { documents: { uri: string; version: number; text: string }[] };
  };
  'workspace/applyEdit': { params: { edit: WorkspaceEdit }; result: { applied: boolean } };
}

/** The functions that answer the daemon's requests. */
export type Answers = {
  [M in keyof DaemonRequests]: (
    params: DaemonRequests[M]['params'],
  ) => DaemonRequests[M]['result'] | Thenable<DaemonRequests[M]['result']>;
};
