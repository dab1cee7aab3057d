import * as vscode from 'vscode';

import type { Conversation, ConversationRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showDocument } from '../text/documents';
import { conversationIdIn, headingsIn, looksLikeTranscript, USUAL_HEADINGS } from './text';

/** A kept conversation, to read. */
const SCHEME = 'jumpseat-conversation';

/** A name for a document: the title without what a path cannot have. */
function fileName(title: string): string {
  const name = title.replaceAll(/[\\/:*?"<>|#]/g, ' ').trim();
  return `${name === '' ? 'Conversation' : name}.md`;
}

function uriOf(row: ConversationRow): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${fileName(row.title)}`, query: row.id });
}

/** The document in a tab of this window that is the chat of a kept conversation. */
async function openTranscript(id: string): Promise<vscode.TextDocument | undefined> {
  const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
  for (const input of inputs) {
    if (input instanceof vscode.TabInputText && isMarkdown(input.uri)) {
      // VS Code reads the document of a tab only when the tab is first shown. The file may have been deleted meanwhile.
      const document = await vscode.workspace.openTextDocument(input.uri).then(undefined, () => undefined);
      if (document && conversationIdIn(document.getText()) === id) {
        return document;
      }
    }
  }
  return undefined;
}

/** Whether a document can be a chat that is edited, as far as its address says. */
function isMarkdown({ scheme, path }: vscode.Uri): boolean {
  return scheme === 'untitled' || (scheme !== SCHEME && /\.(md|markdown)$/i.test(path));
}

/** Show a document with the cursor at its end, where it is before a person can type. */
async function showAtEnd(document: vscode.TextDocument): Promise<void> {
  const end = document.positionAt(document.getText().length);
  await showDocument(document, { preview: false, selection: new vscode.Range(end, end) });
}

/** Kept conversations as Markdown documents: to read, and to continue. */
export class Transcripts implements vscode.TextDocumentContentProvider {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  /** All that the daemon has written in this window. */
  readonly #headings = new Set(Object.values(USUAL_HEADINGS));

  readonly onDidChange = this.#changed.event;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      this.#daemon.onNotification('conversations/didChange', ({ id }) => {
        this.#reread(id);
      }),
    );
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    return (await this.#read(uri.query)).text;
  }

  async show(row: ConversationRow): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uriOf(row));
    await vscode.window.showTextDocument(document, { preview: true });
  }

  /**
   * Open a chat that goes on with a kept conversation, with the cursor where the next question belongs. Shows the open one
   * if there is one, because the changes of a second document would be lost to the first.
   */
  async continue(id: string): Promise<void> {
    const open = await openTranscript(id);
    if (open) {
      await showAtEnd(open);
      return;
    }
    const { text, conversation } = await this.#read(id);
    const { user } = await this.headings(conversation.model);
    // After a turn that failed, the last message is the question itself.
    const isAnswered = conversation.messages.at(-1)?.role !== 'user';
    await this.#open(isAnswered ? `${text}\n${user}\n\n` : text);
  }

  /** Open an empty chat. */
  async create(): Promise<void> {
    const { user } = await this.headings();
    // An empty key of the front matter marks the document as a chat, and the model is completed behind it.
    await this.#open(`---\nmodel:\n---\n\n${user}\n\n`);
  }

  /** The id of the conversation that a document shows, to read. */
  conversationIn(document: vscode.TextDocument): string | undefined {
    return document.uri.scheme === SCHEME ? document.uri.query : undefined;
  }

  /** Whether a document is a chat, to edit or to read. */
  isTranscript(document: vscode.TextDocument): boolean {
    return document.languageId === 'markdown' && looksLikeTranscript(document.getText(), this.#headings);
  }

  /** The headings of both roles, which the configuration may rename. */
  async headings(model?: string): Promise<{ user: string; assistant: string }> {
    const { text } = await this.#daemon.request('transcript/render', {
      messages: [
        { role: 'user', content: '-' },
        { role: 'assistant', content: '-' },
      ],
      ...(model !== undefined && { model }),
    });
    const headings = headingsIn(text);
    Object.values(headings).forEach((each) => this.#headings.add(each));
    return headings;
  }

  async #open(content: string): Promise<void> {
    await showAtEnd(await vscode.workspace.openTextDocument({ language: 'markdown', content }));
  }

  async #read(id: string): Promise<{ text: string; conversation: Conversation }> {
    const conversation = await this.#daemon.request('conversations/get', { id });
    const { messages, model, system, settings } = conversation;
    const { text } = await this.#daemon.request('transcript/render', {
      messages,
      conversationId: id,
      trimAnswers: true,
      ...(model !== undefined && { model }),
      ...(system !== undefined && { system }),
      ...(settings && { settings }),
    });
    return { text, conversation };
  }

  #reread(id: string | undefined): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === SCHEME && (id === undefined || uri.query === id)) {
        this.#changed.fire(uri);
      }
    }
  }
}
