import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import { describeCutOff } from '../../base/cutOff';
import { keepsConversations, rulesParams } from '../../base/settings';
import { asDaemonError } from '../../daemon/errors';
import type { ChatParams, Delta, Message, Requests, TranscriptContent } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import {
  registerCommand,
  createContextSetter,
  showError,
  showWarning,
  runWithStatus,
  showRules,
} from '../common/messages';
import { getPrompt, parsePromptCall } from '../input/prompts';
import { bodyOf, endOfText, frontMatterLength, onlyText } from './text';
import type { Transcripts } from './transcripts';
import { DocumentWriter } from './writer';

type Parsed = Requests['transcript/parse']['result'];

/** Sends Markdown documents that are chats, and writes the answer below the question. */
export class TranscriptSender {
  readonly #daemon: Daemon;
  readonly #transcripts: Transcripts;
  readonly #onTurnEnd: (provider: string) => void;
  readonly #setContext = createContextSetter('jumpseat.transcript');
  readonly #running = new Map<string, vscode.CancellationTokenSource>();

  constructor(daemon: Daemon, transcripts: Transcripts, onTurnEnd: (provider: string) => void) {
    this.#daemon = daemon;
    this.#transcripts = transcripts;
    this.#onTurnEnd = onTurnEnd;
  }

  register(): vscode.Disposable {
    const update = (): void => {
      this.#updateContext();
    };
    return vscode.Disposable.from(
      registerCommand('jumpseat.newTranscript', () => this.#transcripts.create()),
      registerCommand('jumpseat.sendTranscript', () => this.send()),
      registerCommand('jumpseat.stopTranscript', () => {
        this.stop();
      }),
      registerCommand('jumpseat.continueTranscript', () => this.#continue()),
      vscode.window.onDidChangeActiveTextEditor(update),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === vscode.window.activeTextEditor?.document) {
          update();
        }
      }),
    );
  }

  async send(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.languageId !== 'markdown' || this.#transcripts.conversationIn(document) !== undefined) {
      showWarning(
        vscode.l10n.t(
          'Open a chat first: "jumpseat: New Transcript" creates one, "jumpseat: History" lists the kept conversations.',
        ),
      );
      return;
    }
    if (!this.#transcripts.isTranscript(document) && !(await confirmSend(document))) {
      return;
    }
    const key = document.uri.toString();
    if (this.#running.has(key)) {
      showWarning(vscode.l10n.t('An answer is being written; "jumpseat: Stop Transcript" stops it.'));
      return;
    }
    const stop = new vscode.CancellationTokenSource();
    this.#running.set(key, stop);
    this.#updateContext();
    try {
      await this.#send(document, stop);
    } finally {
      this.#running.delete(key);
      stop.dispose();
      this.#updateContext();
    }
  }

  stop(): void {
    const document = vscode.window.activeTextEditor?.document;
    this.#running.get(document?.uri.toString() ?? '')?.cancel();
  }

  async #continue(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const id = document && this.#transcripts.conversationIn(document);
    if (id !== undefined) {
      await this.#transcripts.continue(id);
    }
  }

  async #send(document: vscode.TextDocument, stop: vscode.CancellationTokenSource): Promise<void> {
    let parsed = await this.#parse(document);
    if (parsed.messages.at(-1)?.role !== 'user') {
      showWarning(vscode.l10n.t('There is no question: write one at the end of the chat.'));
      return;
    }
    if (await this.#expandPrompt(document, parsed)) {
      parsed = await this.#parse(document);
    }
    const headings = await this.#transcripts.fetchHeadings(parsed.model);
    const writer = new DocumentWriter(document, endOfText(document.getText()));
    const section = new Section(writer, `\n\n${headings.assistant}\n\n`);
    try {
      // Replace the blank lines after the question, which would otherwise end up below the answer.
      if (!(await section.clear())) {
        showWarning(vscode.l10n.t('The document is read-only, so it was not sent.'));
        return;
      }
      const head = await this.#runTurn(parsed, section, stop);
      await (section.isEmpty ? writer.replace('\n') : section.end(`\n\n${headings.user}\n\n`));
      await this.#writeHead(document, writer, head);
    } finally {
      writer.dispose();
    }
  }

  /** Run the turn, write its answer, and return the new front matter. */
  async #runTurn(parsed: Parsed, section: Section, stop: vscode.CancellationTokenSource): Promise<Head> {
    const head = headOf(parsed);
    const turnId = randomUUID();
    const params: ChatParams = {
      ...head,
      messages: parsed.messages,
      turnId,
      workDoneToken: turnId,
      keep: keepsConversations(),
      ...rulesParams(),
      transcript: true,
    };
    let provider: string | undefined;
    try {
      const { stopReason } = await runWithStatus(vscode.l10n.t('jumpseat is answering'), (report) =>
        this.#daemon.turn(
          'chat/start',
          params,
          (delta) => {
            section.add(delta);
            if (delta.type === 'start') {
              provider = delta.provider;
              showRules(delta.rules);
              // Write the model into the front matter, so that the chat continues with it even if the default changes.
              head.model ??= `${delta.provider}:${delta.model}`;
              if (delta.conversationId !== undefined) {
                head.conversationId = delta.conversationId;
              }
            } else if (delta.type === 'thinking_start') {
              report(vscode.l10n.t('thinking …'));
            } else if (delta.type === 'retry') {
              report(
                vscode.l10n.t(
                  'attempt {0} of {1}: {2}',
                  delta.attempt,
                  delta.maxAttempts,
                  delta.error.message,
                ),
              );
            } else if (delta.type === 'warning') {
              showWarning(delta.message);
            }
          },
          stop.token,
        ),
      );
      const problem = section.isEmpty
        ? vscode.l10n.t('The model returned no text.')
        : describeCutOff(stopReason);
      if (problem !== undefined) {
        showWarning(problem);
      }
    } catch (error) {
      showError(asDaemonError(error));
    } finally {
      if (provider !== undefined) {
        this.#onTurnEnd(provider);
      }
    }
    return head;
  }

  /**
   * Replace a question `/NAME …` with the text of that prompt, so that the document shows the text that is sent.
   * Returns whether the document then has that text.
   */
  async #expandPrompt(document: vscode.TextDocument, parsed: Parsed): Promise<boolean> {
    const index = parsed.messages.length - 1;
    const question = onlyText(parsed.messages[index]?.content ?? []);
    const call = question === undefined ? undefined : parsePromptCall(question);
    const turn = parsed.turns.findLast((each) => each.message === index);
    if (!call || !turn) {
      return false;
    }
    const prompt = await getPrompt(this.#daemon, { ...call, ...modelOf(parsed) });
    const message: Message = { role: 'user', content: prompt.text };
    const rendered = bodyOf(await this.#render({ messages: [message], ...modelOf(parsed) }));
    const start = document.offsetAt(new vscode.Position(turn.startLine, 0));
    const writer = new DocumentWriter(document, { start, end: document.getText().length });
    try {
      return await writer.replace(`${rendered}\n`);
    } finally {
      writer.dispose();
    }
  }

  async #writeHead(document: vscode.TextDocument, writer: DocumentWriter, head: Head): Promise<void> {
    const text = document.getText();
    const length = frontMatterLength(text);
    const rendered = await this.#render({ messages: [], ...head });
    const fresh = rendered.slice(0, frontMatterLength(rendered));
    if (fresh !== '' && text.slice(0, length).replaceAll('\r', '') !== fresh) {
      await writer.replaceBeginning(length, length === 0 ? `${fresh}\n` : fresh);
    }
  }

  #parse(document: vscode.TextDocument): Promise<Parsed> {
    return this.#daemon.request('transcript/parse', { text: document.getText() });
  }

  async #render(content: TranscriptContent): Promise<string> {
    return (await this.#daemon.request('transcript/render', { ...content, trimAnswers: true })).text;
  }

  /** Set the context that determines the active editor's buttons. */
  #updateContext(): void {
    const document = vscode.window.activeTextEditor?.document;
    const isRunning = this.#running.has(document?.uri.toString() ?? '');
    const isTranscript =
      document !== undefined &&
      this.#transcripts.conversationIn(document) === undefined &&
      this.#transcripts.isTranscript(document);
    this.#setContext(isRunning ? 'running' : isTranscript ? 'idle' : undefined);
  }
}

/** Ask whether to make a Markdown document a chat. */
async function confirmSend(document: vscode.TextDocument): Promise<boolean> {
  const question = vscode.l10n.t('Make {0} a chat?', vscode.workspace.asRelativePath(document.uri));
  const detail = vscode.l10n.t('All of its text is sent to the model, and the answer is written below it.');
  const send = vscode.l10n.t('Send');
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, send)) === send;
}

/** Writes the section of an answer into the document. The daemon's deltas contain the section's text. */
class Section {
  readonly #writer: DocumentWriter;
  readonly #heading: string;
  #isThinking = false;
  isEmpty = true;

  constructor(writer: DocumentWriter, heading: string) {
    this.#writer = writer;
    this.#heading = heading;
  }

  add(delta: Delta): void {
    if (delta.type === 'response' && !this.isEmpty) {
      // The provider starts its answer again.
      void this.clear();
    }
    if (delta.transcript !== undefined) {
      this.isEmpty = false;
      this.#writer.append(delta.transcript);
      this.#isThinking =
        delta.type === 'thinking_start' || (this.#isThinking && !THINKING_ENDS.has(delta.type));
    }
  }

  clear(): Promise<boolean> {
    this.isEmpty = true;
    this.#isThinking = false;
    return this.#writer.replace(this.#heading);
  }

  async end(after: string): Promise<void> {
    // The daemon may have ended before it closed the block of thinking.
    await this.#writer.complete(this.#isThinking ? `\n\n</details>\n${after}` : after);
  }
}

/** The deltas that close the block of thinking. */
const THINKING_ENDS: ReadonlySet<Delta['type']> = new Set(['thinking_done', 'done']);

/** The values in the front matter. */
type Head = Omit<TranscriptContent, 'messages'>;

function headOf({ system, model, settings, conversationId }: TranscriptContent): Head {
  return {
    ...(system !== undefined && { system }),
    ...(model !== undefined && { model }),
    ...(settings && { settings }),
    ...(conversationId !== undefined && { conversationId }),
  };
}

function modelOf({ model }: Head): { model?: string } {
  return model === undefined ? {} : { model };
}
