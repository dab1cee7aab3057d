import * as vscode from 'vscode';

import type { Daemon } from '../../daemon/supervisor';
import { showWarning } from '../common/messages';

const OPEN = 'workbench.action.chat.open';

/** A range of a file in the chat view's format: lines and columns from 1. */
interface AttachedFile {
  uri: vscode.Uri;
  range: { startLineNumber: number; startColumn: number; endLineNumber: number; endColumn: number };
}

function attachRange(
  editor: vscode.TextEditor | undefined,
  attached: vscode.Range | undefined = editor?.selection,
): AttachedFile[] {
  if (!editor || !attached || attached.isEmpty) {
    return [];
  }
  const { start, end } = attached;
  const range = {
    startLineNumber: start.line + 1,
    startColumn: start.character + 1,
    endLineNumber: end.line + 1,
    endColumn: end.character + 1,
  };
  return [{ uri: editor.document.uri, range }];
}

/** Open the chat with a question, which is sent unless it is partial. */
export async function openChat(
  query: string,
  attachFiles: AttachedFile[],
  isPartialQuery: boolean,
): Promise<void> {
  const commands = await vscode.commands.getCommands(true);
  if (!commands.includes(OPEN)) {
    showWarning(
      vscode.l10n.t('The chat of VS Code is turned off. Change the setting chat.disableAIFeatures.'),
    );
    return;
  }
  await vscode.commands.executeCommand(OPEN, { query, isPartialQuery, attachFiles });
}

/** Open the chat with a range of the active editor attached, by default the selection. Asks the question if there is one. */
export async function ask(question?: string, attached?: vscode.Range): Promise<void> {
  await openChat(
    `@jumpseat ${question ?? ''}`,
    attachRange(vscode.window.activeTextEditor, attached),
    question === undefined,
  );
}

/** Insert the call of a prompt (`/NAME`) into the chat's input box, so that the user can add text and send it. */
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
  return (await vscode.window.showQuickPick(rows, { title: vscode.l10n.t('Prompt') }))?.label;
}
