import * as vscode from 'vscode';

import { convertLineEndings, type LineEnding } from '../text/preview';
import { changesOf, lineEndingOf, rangeOfSpan } from '../text/spans';
import { shiftBy, type Span } from '../text/tracked';

/** The maximum number of attempts at a change. An attempt fails if the user types at the same time. */
const TRIES = 5;

/**
 * Writes a span of a document that the user may edit at the same time. All writes are one undo step as long as the
 * document is shown. Text that the user types after the span stays after it.
 */
export class DocumentWriter implements vscode.Disposable {
  readonly #document: vscode.TextDocument;
  readonly #lineEnding: LineEnding;
  readonly #listener: vscode.Disposable;
  #span: Span;
  #isFirst = true;
  /** The text that is being written, to distinguish the writer's own change from changes by the user. */
  #writing: { text: string } | undefined;
  #waiting = '';
  /** The text that is to replace the whole span. `#waiting` follows it. */
  #replacement: string | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(document: vscode.TextDocument, span: Span) {
    this.#document = document;
    this.#lineEnding = lineEndingOf(document);
    this.#span = span;
    this.#listener = vscode.workspace.onDidChangeTextDocument((event) => {
      this.#handleChange(event);
    });
  }

  dispose(): void {
    this.#listener.dispose();
  }

  /** Add a text at the end of the span. Texts added during a write are written together. */
  append(text: string): void {
    this.#waiting += text;
    this.#running = this.#running.then(() => this.#flush());
  }

  /** Add the last text, and wait until everything is written. */
  async complete(text: string): Promise<void> {
    this.append(text);
    await this.#running;
  }

  /**
   * Replace the whole span with another text. Texts that are added later follow it. Returns whether the document then has
   * the text: VS Code writes nothing into a read-only editor, and does not report an error.
   */
  async replace(text: string): Promise<boolean> {
    this.#replacement = text;
    this.#waiting = '';
    await this.complete('');
    return (
      this.#document.getText(rangeOfSpan(this.#document, this.#span)) ===
      convertLineEndings(text, this.#lineEnding)
    );
  }

  /** Replace the first `length` characters of the document with another text. */
  async replaceBeginning(length: number, text: string): Promise<void> {
    await this.#write(() => ({ start: 0, end: length }), convertLineEndings(text, this.#lineEnding));
  }

  async #flush(): Promise<void> {
    const text = convertLineEndings((this.#replacement ?? '') + this.#waiting, this.#lineEnding);
    const replaces = this.#replacement !== undefined;
    this.#replacement = undefined;
    this.#waiting = '';
    const findRange = (): Span => (replaces ? this.#span : { start: this.#span.end, end: this.#span.end });
    if (this.#document.getText(rangeOfSpan(this.#document, findRange())) !== text) {
      await this.#write(findRange, text);
    }
  }

  async #write(where: () => Span, text: string): Promise<void> {
    this.#writing = { text };
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        if (await this.#apply(rangeOfSpan(this.#document, where()), text)) {
          this.#isFirst = false;
          return;
        }
      }
    } finally {
      this.#writing = undefined;
    }
  }

  async #apply(range: vscode.Range, text: string): Promise<boolean> {
    const editor = vscode.window.visibleTextEditors.find((each) => each.document === this.#document);
    if (!editor) {
      const change = new vscode.WorkspaceEdit();
      change.replace(this.#document.uri, range, text);
      return vscode.workspace.applyEdit(change);
    }
    const isAtEnd = editor.selection.active.line >= this.#document.lineCount - 1;
    const isDone = await editor.edit(
      (edit) => {
        edit.replace(range, text);
      },
      { undoStopBefore: this.#isFirst, undoStopAfter: false },
    );
    if (isDone && isAtEnd) {
      const end = this.#document.positionAt(this.#document.getText().length);
      editor.revealRange(new vscode.Range(end, end));
    }
    return isDone;
  }

  #handleChange(event: vscode.TextDocumentChangeEvent): void {
    if (event.document !== this.#document) {
      return;
    }
    const changes = changesOf(event);
    const [own] = changes;
    const isOwn = changes.length === 1 && own !== undefined && own.text === this.#writing?.text;
    if (isOwn && own.offset >= this.#span.start && own.offset <= this.#span.end) {
      this.#span = { start: this.#span.start, end: this.#span.end + own.text.length - own.length };
    } else {
      this.#span = shiftBy(this.#span, changes);
    }
  }
}
