import * as vscode from 'vscode';

import type { Conversation, ConversationRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showDocument } from '../text/documents';
import { conversationIdIn, headingsIn, looksLikeTranscript, USUAL_HEADINGS } from './text';

/** The scheme of read-only documents that show kept conversations. */
const SCHEME = 'jumpseat-conversation';

/** Return a document name for a title, without characters that are invalid in paths. */
function toFileName(title: string): string {
  const name = title.replaceAll(/[\\/:*?"<>|#]/g, ' ').trim();
  return `${name === '' ? vscode.l10n.t('Conversation') : name}.md`;
}

function uriOf(row: ConversationRow): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: `/${toFileName(row.title)}`, query: row.id });
}

/** Find, among the tabs of this window, the chat of a kept conversation. */
async function findOpenTranscript(id: string): Promise<vscode.TextDocument | undefined> {
  const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
  for (const input of inputs) {
    if (input instanceof vscode.TabInputText && isMarkdown(input.uri)) {
      // Open the document, because VS Code does not read it until its tab is shown. The file may have been deleted.
      const document = await vscode.workspace.openTextDocument(input.uri).then(undefined, () => undefined);
      if (document && conversationIdIn(document.getText()) === id) {
        return document;
      }
    }
  }
  return undefined;
}

/** Whether a document's URI allows it to be an editable chat. */
function isMarkdown({ scheme, path }: vscode.Uri): boolean {
  return scheme === 'untitled' || (scheme !== SCHEME && /\.(md|markdown)$/i.test(path));
}

/** Show a document with the cursor at its end, placed there before the user can type. */
async function showAtEnd(document: vscode.TextDocument): Promise<void> {
  const end = document.positionAt(document.getText().length);
  await showDocument(document, { preview: false, selection: new vscode.Range(end, end) });
}

/** Kept conversations as Markdown documents, for reading and for continuing. */
export class Transcripts implements vscode.TextDocumentContentProvider {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  /** The headings that the daemon has used in this window. */
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
   * Open a chat that continues a kept conversation, with the cursor where the next question goes. If a chat of this
   * conversation is already open, show that chat: the user's changes in it would be missing in a second document.
   */
  async continue(id: string): Promise<void> {
    const open = await findOpenTranscript(id);
    if (open) {
      await showAtEnd(open);
      return;
    }
    const { text, conversation } = await this.#read(id);
    const { user } = await this.fetchHeadings(conversation.model);
    // After a failed turn, the last message is the question itself.
    const isAnswered = conversation.messages.at(-1)?.role !== 'user';
    await this.#open(isAnswered ? `${text}\n${user}\n\n` : text);
  }

  /** Open an empty chat. */
  async create(): Promise<void> {
    const { user } = await this.fetchHeadings();
    // The key without a value marks the document as a chat, and the user can complete it with a model.
    // eslint-disable-next-line no-restricted-syntax -- This is the format of transcripts.
    await this.#open(`---\nmodel:\n---\n\n${user}\n\n`);
  }

  /** Return the id of the conversation that a read-only document shows. */
  conversationIn(document: vscode.TextDocument): string | undefined {
    return document.uri.scheme === SCHEME ? document.uri.query : undefined;
  }

  /** Whether a document is a chat, editable or read-only. */
  isTranscript(document: vscode.TextDocument): boolean {
    return document.languageId === 'markdown' && looksLikeTranscript(document.getText(), this.#headings);
  }

  /** Fetch the headings of both roles, which the configuration may rename. */
  async fetchHeadings(model?: string): Promise<{ user: string; assistant: string }> {
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
