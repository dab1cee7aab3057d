import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import type { Delta, ToolOutput } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import type { Approvals } from './approvals';
import { FILES, listFolders, resolvePath, TOOL_PREFIX } from './selection';
import { formatDiff } from './words';

interface Input {
  path?: string;
  pattern?: string;
  oldText?: string;
  newText?: string;
  text?: string;
}

/** The texts with which VS Code shows a call of a tool. The subject is a file or a pattern. */
interface Wording {
  /** The question that the user confirms. Absent if the tool needs no confirmation. */
  ask?: (subject: string) => string;
  doing: (subject: string) => string;
}

const WORDING: Record<string, Wording> = {
  read: { doing: (subject) => vscode.l10n.t('Reading {0}', subject) },
  list: { doing: (subject) => vscode.l10n.t('Listing {0}', subject) },
  search: { doing: (subject) => vscode.l10n.t('Searching for {0}', subject) },
  edit: {
    ask: (subject) => vscode.l10n.t('Edit {0}?', subject),
    doing: (subject) => vscode.l10n.t('Editing {0}', subject),
  },
  write: {
    ask: (subject) => vscode.l10n.t('Write {0}?', subject),
    doing: (subject) => vscode.l10n.t('Writing {0}', subject),
  },
};

/** Register the daemon's file tools in VS Code, whose own agent then uses them with its own confirmation. */
export function registerFileTools(daemon: Daemon, approvals: Approvals): vscode.Disposable {
  // VS Code's agent does not identify its chat, so all its calls in this window share one id. The daemon then lets a
  // chat edit a file that another chat has read.
  const conversationId = randomUUID();
  const tools = Object.entries(WORDING).map(([name, wording]) =>
    vscode.lm.registerTool(
      `${TOOL_PREFIX}${name}`,
      new FileTool(name, wording, conversationId, daemon, approvals),
    ),
  );
  return vscode.Disposable.from(...tools);
}

class FileTool implements vscode.LanguageModelTool<Input> {
  constructor(
    private readonly name: string,
    private readonly wording: Wording,
    private readonly conversationId: string,
    private readonly daemon: Daemon,
    private readonly approvals: Approvals,
  ) {}

  async prepareInvocation({
    input,
  }: vscode.LanguageModelToolInvocationPrepareOptions<Input>): Promise<vscode.PreparedToolInvocation> {
    const { ask, doing } = this.wording;
    const subject = input.pattern ?? input.path ?? vscode.l10n.t('the workspace');
    const confirmationMessages = ask && {
      title: ask(subject),
      message: new vscode.MarkdownString(await describeChange(input)),
    };
    return { invocationMessage: doing(subject), ...(confirmationMessages && { confirmationMessages }) };
  }

  async invoke(
    { input }: vscode.LanguageModelToolInvocationOptions<Input>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const turnId = randomUUID();
    const params = {
      server: FILES,
      tool: this.name,
      arguments: input,
      turnId,
      conversationId: this.conversationId,
      workspaceFolders: listFolders(),
    };
    try {
      return toResult(
        await this.daemon.turn(
          'tools/run',
          params,
          (delta) => {
            this.#handle(turnId, delta);
          },
          token,
        ),
      );
    } finally {
      this.approvals.end(turnId);
    }
  }

  #handle(turnId: string, delta: Delta): void {
    if (delta.type === 'tool_approval' && delta.reason === 'ask' && this.wording.ask !== undefined) {
      // VS Code has asked already.
      void this.approvals.allow(turnId, delta.toolUseId);
    } else if (delta.type === 'tool_approval' || delta.type === 'tool_status') {
      this.approvals.handle(turnId, delta);
    }
  }
}

/** Describe a change for VS Code's confirmation. */
async function describeChange({ path = '', oldText, newText, text }: Input): Promise<string> {
  if (text === undefined) {
    return formatDiff({ oldText: oldText ?? '', newText: newText ?? '' });
  }
  const old = await readText(path);
  return formatDiff({ newText: text, ...(old !== undefined && { oldText: old }) });
}

/** Return the text of a file; undefined if it cannot be read. */
async function readText(path: string): Promise<string | undefined> {
  const uri = resolvePath(path);
  try {
    return uri && (await vscode.workspace.openTextDocument(uri)).getText();
  } catch {
    return undefined;
  }
}

function toResult({ content, isError }: ToolOutput): vscode.LanguageModelToolResult {
  const parts =
    typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : ''));
  const text = parts.join('\n');
  return new vscode.LanguageModelToolResult([
    // eslint-disable-next-line no-restricted-syntax -- The model reads this.
    new vscode.LanguageModelTextPart(isError === true ? `Error: ${text}` : text),
  ]);
}
