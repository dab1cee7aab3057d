/** Deltas about calls of tools that the daemon runs. */

export type Remember = 'turn' | 'conversation' | 'always';

export interface FileDiff {
  uri: string;
  /** Absent if the file is new. */
  oldText?: string;
  newText: string;
}

/** A question to the user: may this call run? `title` is one escaped line. */
export interface ToolApproval {
  toolUseId: string;
  server: string;
  tool: string;
  title: string;
  kind: string;
  arguments: Record<string, unknown>;
  diff?: FileDiff[];
  reason: 'ask' | 'rule' | 'changed' | 'outside';
  /** The choices for how long the decision is remembered; empty if each call needs its own decision. */
  remember: Remember[];
}

export interface ToolStatus {
  toolUseId: string;
  status: 'running' | 'completed' | 'failed' | 'denied';
  message?: string;
  progress?: number;
  total?: number;
}

export type ToolDelta = ({ type: 'tool_approval' } & ToolApproval) | ({ type: 'tool_status' } & ToolStatus);
