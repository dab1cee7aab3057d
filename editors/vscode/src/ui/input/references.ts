import * as vscode from 'vscode';

import { binaryData } from '../../base/untyped';
import { DaemonError, Code } from '../../daemon/errors';
import type { Block, Range } from '../../daemon/protocol';
import { directoryBlock, imageBlock, imageType } from './contexts';

function createUnreadableError(what: string, why: unknown): DaemonError {
  // VS Code wraps the reason in an address and a detail.
  const reason = (why instanceof Error ? why.message : String(why)).replace(/^.*Detail: /, '');
  const hint = `Take it out of the question, or ask again when it can be read (${reason}).`;
  return new DaemonError(Code.request, `${what} cannot be read.`, {
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
function toBlock(document: vscode.TextDocument, range?: vscode.Range): Block {
  return {
    type: 'context',
    uri: document.uri.toString(),
    languageId: document.languageId,
    text: document.getText(range),
    ...(range && { range: rangeOf(range) }),
  };
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
  throw new Error('this kind of attachment is not known');
}

function nameOf({ value, id }: vscode.ChatPromptReference): string {
  if (value instanceof vscode.Uri) {
    return `The file ${vscode.workspace.asRelativePath(value)}`;
  }
  if (value instanceof vscode.Location) {
    return `The file ${vscode.workspace.asRelativePath(value.uri)}`;
  }
  return `The attachment ${id}`;
}

/** The list of skills and agents that VS Code attaches for models with tools. This chat has no tools. */
const FOR_AGENTS = 'vscode.customizations.index';

/** Convert the attachments of a question to blocks. Throws a `DaemonError` that names the one that cannot be read. */
export async function readAttachedBlocks(
  references: readonly vscode.ChatPromptReference[],
): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const reference of references.filter(({ id }) => id !== FOR_AGENTS)) {
    try {
      blocks.push(await readAttachedBlock(reference));
    } catch (error) {
      throw createUnreadableError(nameOf(reference), error);
    }
  }
  return blocks;
}
