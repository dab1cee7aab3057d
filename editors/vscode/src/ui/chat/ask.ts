import * as vscode from 'vscode';

import type { Daemon } from '../../daemon/supervisor';
import { showWarning } from '../common/messages';

const OPEN = 'workbench.action.chat.open';

/** A range of a file in the chat view's format: lines and columns from 1. */
interface AttachedFile {
  uri: vscode.Uri;
  range: { startLineNumber: number; startColumn: number; endLineNumber: number; endColumn: number };
}

function attachSelection(editor: vscode.TextEditor | undefined): AttachedFile[] {
  if (!editor || editor.selection.isEmpty) {
    return [];
  }
  const { start, end } = editor.selection;
  const range = {
    startLineNumber: start.line + 1,
    startColumn: start.character + 1,
    endLineNumber: end.line + 1,
    endColumn: end.character + 1,
  };
  return [{ uri: editor.document.uri, range }];
}

async function openChat(query: string, attachFiles: AttachedFile[], isPartialQuery: boolean): Promise<void> {
  const commands = await vscode.commands.getCommands(true);
  if (!commands.includes(OPEN)) {
    showWarning('The chat of VS Code is turned off. Change the setting chat.disableAIFeatures.');
    return;
  }
  await vscode.commands.executeCommand(OPEN, { query, isPartialQuery, attachFiles });
}

/** Open the chat with the selection attached, and ask the question if there is one. */
export async function ask(question?: string): Promise<void> {
  await openChat(
    `@jumpseat ${question ?? ''}`,
    attachSelection(vscode.window.activeTextEditor),
    question === undefined,
  );
}

/** Insert a prompt from the configuration into the chat, so that the user can write its input after it. */
export async function usePrompt(daemon: Daemon, name?: string): Promise<void> {
  const chosen = name ?? (await pickPrompt(daemon));
  if (chosen !== undefined) {
    await openChat(`@jumpseat /${chosen} `, [], true);
  }
}

async function pickPrompt(daemon: Daemon): Promise<string | undefined> {
  const rows = daemon.request('prompts/list', {}).then(({ prompts }) =>
    prompts.map((each) => ({
      label: each.name,
      ...(each.description !== undefined && { detail: each.description }),
    })),
  );
  return (await vscode.window.showQuickPick(rows, { title: 'Prompt' }))?.label;
}
