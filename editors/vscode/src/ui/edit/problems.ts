import * as vscode from 'vscode';

import { ask } from '../chat/ask';
import { showWarning } from '../common/messages';
import type { Edits } from './edits';
import { findTargets } from './view';

/** A symbol of at most this many lines is rewritten as a whole to fix a problem in it. */
const MOST_SYMBOL_LINES = 150;

/** Describe problems that a compiler or linter has found: one line each, with its place. */
function describeProblems(problems: readonly vscode.Diagnostic[]): string {
  return problems
    .map(({ message, range, source }) => {
      const suffix = source === undefined ? '' : ` (${source})`;
      // eslint-disable-next-line no-restricted-syntax -- The model reads this.
      return `Line ${range.start.line + 1}: ${message.replaceAll(/\s*\n\s*/g, ' ')}${suffix}`;
    })
    .join('\n');
}

function findProblems(document: vscode.TextDocument, range: vscode.Range): vscode.Diagnostic[] {
  return vscode.languages
    .getDiagnostics(document.uri)
    .filter((each) => each.severity <= vscode.DiagnosticSeverity.Warning && each.range.intersection(range));
}

/** Return the lines of the innermost short symbol (such as a function) around a range, or else the range's lines. */
async function findSurroundings(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.Range> {
  const end = document.lineAt(range.end.line).range.end;
  let found = new vscode.Range(range.start.line, 0, end.line, end.character);
  let symbols = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>(
    'vscode.executeDocumentSymbolProvider',
    document.uri,
  );
  for (;;) {
    const around = symbols.find((each) => 'range' in each && each.range.contains(range));
    if (!around || !('range' in around)) {
      return found;
    }
    const { start, end: last } = around.range;
    if (last.line - start.line < MOST_SYMBOL_LINES) {
      found = new vscode.Range(start.line, 0, last.line, document.lineAt(last.line).text.length);
    }
    symbols = around.children;
  }
}

/** Problems in the active editor, and the code around them. */
interface Found {
  description: string;
  surroundings: vscode.Range;
}

/**
 * Describe the given problems, or else those of the selection or the current line, and find the code around them. Returns
 * undefined if there are no problems.
 */
async function collectProblems(given: readonly vscode.Diagnostic[] | undefined): Promise<Found | undefined> {
  const editor = vscode.window.activeTextEditor;
  const target = editor && findTargets(editor)[0];
  const problems = given ?? (target ? findProblems(editor.document, target) : []);
  const [first, ...others] = problems;
  if (!editor || !first) {
    return undefined;
  }
  const range = others.reduce((all, each) => all.union(each.range), first.range);
  return {
    description: describeProblems(problems),
    surroundings: await findSurroundings(editor.document, range),
  };
}

/** Fix problems in the active editor by an edit. */
export async function fixProblems(edits: Edits, given?: readonly vscode.Diagnostic[]): Promise<void> {
  const found = await collectProblems(given);
  if (found) {
    await edits.start(`/fix ${found.description}`, found.surroundings);
  } else {
    showWarning(vscode.l10n.t('There is no problem in the selection or in this line.'));
  }
}

/** Explain problems in the chat, or the selection if there are none. */
export async function explain(given?: readonly vscode.Diagnostic[]): Promise<void> {
  const found = await collectProblems(given);
  await (found ? ask(`/explain ${found.description}`, found.surroundings) : ask('/explain'));
}
