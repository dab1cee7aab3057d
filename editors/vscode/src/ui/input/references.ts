import * as vscode from 'vscode';

import { binaryData } from '../../base/untyped';
import { DaemonError, Code } from '../../daemon/errors';
import type { Block, ContextBlock, Range } from '../../daemon/protocol';
import { directoryBlock, imageBlock, imageType } from './contexts';

function createUnreadableError(subject: string, cause: unknown): DaemonError {
  // VS Code puts text of its own and "Detail: " before the reason.
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/^.*Detail: /, '');
  const hint = vscode.l10n.t('Remove it from the question, or ask again when it is readable ({0}).', reason);
  return new DaemonError(Code.request, vscode.l10n.t('{0} cannot be read.', subject), {
    kind: 'request',
    retryable: false,
    hint,
  });
}

export function rangeOf(range: vscode.Range): Range {
  const { start, end } = range;
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** Create a block for a document or a range of it, including unsaved changes. */
function toBlock(document: vscode.TextDocument, range?: vscode.Range): ContextBlock {
  return {
    type: 'context',
    uri: document.uri.toString(),
    languageId: document.languageId,
    text: document.getText(range),
    ...(range && { range: rangeOf(range) }),
  };
}

/** Return a block for the selection of the active editor, or for the whole document if nothing is selected. */
export function readSelectedBlocks(): Block[] {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return [];
  }
  return [toBlock(editor.document, editor.selection.isEmpty ? undefined : editor.selection)];
}

/** The maximum number of characters that are sent as the surroundings of a piece: about 4,000 tokens. */
const MOST_SURROUNDINGS = 16_000;

/**
 * Return the document that contains a piece, or only the part around the piece if the document is long. Returns
 * undefined if the piece itself is long or is the whole text.
 */
export function readSurroundings(
  document: vscode.TextDocument,
  piece: vscode.Range,
): ContextBlock | undefined {
  const length = document.getText().length;
  const [start, end] = [document.offsetAt(piece.start), document.offsetAt(piece.end)];
  const room = Math.floor((MOST_SURROUNDINGS - (end - start)) / 2);
  if (end - start === length || room <= 0) {
    return undefined;
  }
  if (length <= MOST_SURROUNDINGS) {
    return toBlock(document);
  }
  const first = document.positionAt(Math.max(0, start - room));
  const last = document.positionAt(Math.min(length, end + room));
  return toBlock(document, new vscode.Range(first.line, 0, last.line, 0).union(piece));
}

async function readFileBlock(uri: vscode.Uri): Promise<Block> {
  const mediaType = imageType(uri.path);
  if (mediaType !== undefined) {
    return imageBlock(await vscode.workspace.fs.readFile(uri), mediaType);
  }
  const isOpen = vscode.workspace.textDocuments.some((each) => each.uri.toString() === uri.toString());
  if (!isOpen && (await vscode.workspace.fs.stat(uri)).type & vscode.FileType.Directory) {
    const entries = await vscode.workspace.fs.readDirectory(uri);
    const rows = entries.map(([name, type]) => ({
      name,
      isDirectory: (type & vscode.FileType.Directory) !== 0,
    }));
    return directoryBlock(uri.toString(), rows);
  }
  return toBlock(await vscode.workspace.openTextDocument(uri));
}

/** Convert an attachment of a question to a block. */
async function readAttachedBlock(reference: vscode.ChatPromptReference): Promise<Block> {
  const { value } = reference;
  if (value instanceof vscode.Uri) {
    return readFileBlock(value);
  }
  if (value instanceof vscode.Location) {
    return toBlock(await vscode.workspace.openTextDocument(value.uri), value.range);
  }
  if (typeof value === 'string') {
    return { type: 'context', text: value, label: reference.modelDescription ?? reference.id };
  }
  const data = binaryData(value);
  if (data) {
    return imageBlock(await data.read(), data.mimeType);
  }
  throw new Error(vscode.l10n.t('attachments of this kind are not supported'));
}

function describe({ value, id }: vscode.ChatPromptReference): string {
  if (value instanceof vscode.Uri) {
    return vscode.l10n.t('The file {0}', vscode.workspace.asRelativePath(value));
  }
  if (value instanceof vscode.Location) {
    return vscode.l10n.t('The file {0}', vscode.workspace.asRelativePath(value.uri));
  }
  return vscode.l10n.t('The attachment {0}', id);
}

/** The id of an attachment with VS Code's skills and agents. It is left out: the daemon's tools cannot use them. */
const AGENT_INDEX = 'vscode.customizations.index';

/** Convert the attachments of a question to blocks. Throws a `DaemonError` that names the first unreadable one. */
export async function readAttachedBlocks(
  references: readonly vscode.ChatPromptReference[],
): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const reference of references.filter(({ id }) => id !== AGENT_INDEX)) {
    try {
      blocks.push(await readAttachedBlock(reference));
    } catch (error) {
      throw createUnreadableError(describe(reference), error);
    }
  }
  return blocks;
}
