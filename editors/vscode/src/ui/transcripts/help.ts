import * as vscode from 'vscode';

import type { Diagnostic } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import type { FactsReader } from '../common/facts';
import { toRange } from '../text/spans';
import { findSuggestions, type Suggestion } from './completions';
import type { Transcripts } from './transcripts';

const CHECK_MS = 300;
const KINDS = {
  key: vscode.CompletionItemKind.Property,
  value: vscode.CompletionItemKind.Value,
  model: vscode.CompletionItemKind.EnumMember,
  prompt: vscode.CompletionItemKind.Snippet,
};

function toDiagnostic({ range, severity, message, code }: Diagnostic): vscode.Diagnostic {
  const level = severity === 1 ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
  const diagnostic = new vscode.Diagnostic(toRange(range), message, level);
  diagnostic.source = 'jumpseat';
  if (code !== undefined) {
    diagnostic.code = code;
  }
  return diagnostic;
}

/** Help for writing transcripts: diagnostics, completions, and folding of thinking. */
export class TranscriptHelp implements vscode.CompletionItemProvider, vscode.FoldingRangeProvider {
  readonly #daemon: Daemon;
  readonly #facts: FactsReader;
  readonly #transcripts: Transcripts;
  readonly #diagnostics = vscode.languages.createDiagnosticCollection('jumpseat');
  readonly #timers = new Map<vscode.TextDocument, NodeJS.Timeout>();

  constructor(daemon: Daemon, facts: FactsReader, transcripts: Transcripts) {
    this.#daemon = daemon;
    this.#facts = facts;
    this.#transcripts = transcripts;
  }

  register(): vscode.Disposable {
    const checkAll = (): void => {
      vscode.workspace.textDocuments.forEach((document) => {
        this.#checkSoon(document);
      });
    };
    checkAll();
    return vscode.Disposable.from(
      this.#diagnostics,
      this.#facts.onDidChange(checkAll),
      vscode.workspace.onDidOpenTextDocument((document) => {
        this.#checkSoon(document);
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.#checkSoon(document);
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.#forget(document);
      }),
      vscode.languages.registerCompletionItemProvider('markdown', this, '/', ':', ' '),
      vscode.languages.registerFoldingRangeProvider('markdown', this),
      new vscode.Disposable(() => {
        this.#timers.forEach(clearTimeout);
      }),
    );
  }

  async provideCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    token: vscode.CancellationToken,
  ): Promise<vscode.CompletionItem[]> {
    if (!this.#transcripts.isTranscript(document) || this.#daemon.state !== 'ready') {
      return [];
    }
    const { prompts } = await this.#daemon.request('prompts/list', {}, token);
    const { providers, models } = this.#facts.current;
    const lines = document.getText().split(/\r?\n/);
    const found = findSuggestions(lines, position.line, position.character, { providers, models, prompts });
    const range = document.getWordRangeAtPosition(position, /[^\s/]+/);
    return found.map((each) => toCompletionItem(each, range));
  }

  async provideFoldingRanges(document: vscode.TextDocument): Promise<vscode.FoldingRange[]> {
    if (!this.#transcripts.isTranscript(document) || this.#daemon.state !== 'ready') {
      return [];
    }
    try {
      const { turns } = await this.#daemon.request('transcript/parse', { text: document.getText() });
      const thinking = turns.flatMap((turn) => turn.thinking ?? []);
      return thinking.map(({ startLine, endLine }) => new vscode.FoldingRange(startLine, endLine - 1));
    } catch {
      // Ignore unreadable front matter here: a diagnostic reports it.
      return [];
    }
  }

  /** Check a document soon, if the daemon is running: merely viewing a document must not start the daemon. */
  #checkSoon(document: vscode.TextDocument): void {
    if (document.languageId !== 'markdown') {
      return;
    }
    clearTimeout(this.#timers.get(document));
    const timer = setTimeout(() => {
      this.#timers.delete(document);
      this.#check(document).catch(() => undefined);
    }, CHECK_MS);
    this.#timers.set(document, timer);
  }

  async #check(document: vscode.TextDocument): Promise<void> {
    if (!this.#transcripts.isTranscript(document) || !this.#daemon.supports('transcript/check')) {
      this.#diagnostics.delete(document.uri);
      return;
    }
    const { version } = document;
    const { diagnostics } = await this.#daemon.request('transcript/check', { text: document.getText() });
    if (!document.isClosed && document.version === version) {
      this.#diagnostics.set(document.uri, diagnostics.map(toDiagnostic));
    }
  }

  #forget(document: vscode.TextDocument): void {
    clearTimeout(this.#timers.get(document));
    this.#timers.delete(document);
    this.#diagnostics.delete(document.uri);
  }
}

function toCompletionItem(
  { kind, text, detail, documentation }: Suggestion,
  range: vscode.Range | undefined,
): vscode.CompletionItem {
  const item = new vscode.CompletionItem(text, KINDS[kind]);
  item.insertText = kind === 'key' ? `${text}: ` : text;
  if (detail !== undefined) {
    item.detail = detail;
  }
  if (documentation !== undefined) {
    item.documentation = documentation;
  }
  if (range) {
    item.range = range;
  }
  return item;
}
