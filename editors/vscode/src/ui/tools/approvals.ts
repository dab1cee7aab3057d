import * as vscode from 'vscode';

import type { ToolApproval, ToolDelta } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { createContextSetter, registerCommand, showError, showInformation } from '../common/messages';
import { DiffDocuments } from './diffs';
import { ALLOW, DENY, explainReason, formatQuestion, listChoices, type Choice } from './words';

const DECIDE = 'jumpseat.decideCall';
const SHOW = 'jumpseat.showCall';
const DECIDED = vscode.l10n.t('This call no longer waits for a decision.');

/** A call that waits for the user. */
interface Question {
  key: string;
  turnId: string;
  approval: ToolApproval;
}

/** The questions of the daemon about calls of tools: shown in the chat and as notifications, and answered by the user. */
export class Approvals {
  readonly #daemon: Daemon;
  readonly #diffs = new DiffDocuments();
  readonly #questions = new Map<string, Question>();
  readonly #setAsking = createContextSetter('jumpseat.isAsking');

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      this.#diffs.register(),
      registerCommand(DECIDE, (key: string, choice: Choice) => this.#decide(key, choice)),
      registerCommand(SHOW, (key?: unknown) => this.#show(this.#find(key))),
      registerCommand('jumpseat.allowCall', () => this.#decideShown(ALLOW)),
      registerCommand('jumpseat.denyCall', () => this.#decideShown(DENY)),
    );
  }

  /** Handle a delta about a call of a turn. The stream of a chat shows the question too. */
  handle(turnId: string, delta: ToolDelta, stream?: vscode.ChatResponseStream): void {
    const key = `${turnId} ${delta.toolUseId}`;
    if (delta.type === 'tool_status') {
      this.#forget(key);
      return;
    }
    const question = { key, turnId, approval: delta };
    this.#questions.set(key, question);
    this.#setAsking(true);
    if (stream) {
      showInChat(question, stream);
    }
    this.#notify(question).catch(showError);
  }

  /** Allow a call that the user has confirmed elsewhere. */
  async allow(turnId: string, toolUseId: string): Promise<void> {
    await this.#daemon.request('tools/decide', { turnId, toolUseId, decision: 'allow' });
  }

  /** Withdraw the questions of a turn that has ended. */
  end(turnId: string): void {
    for (const question of [...this.#questions.values()].filter((each) => each.turnId === turnId)) {
      this.#forget(question.key);
    }
  }

  async #notify(question: Question): Promise<void> {
    const { approval, key } = question;
    const reason = explainReason(approval);
    const text = `${approval.title}?${reason === undefined ? '' : ` ${reason}`}`;
    const show = approval.diff ? [vscode.l10n.t('Show Diff')] : [];
    const chosen = await vscode.window.showInformationMessage(text, ALLOW.title, ...show, DENY.title);
    if (chosen === vscode.l10n.t('Show Diff')) {
      await this.#show(this.#questions.get(key));
    } else if (chosen !== undefined) {
      await this.#decide(key, chosen === ALLOW.title ? ALLOW : DENY);
    }
  }

  async #decide(key: string, { decision, remember, explains }: Choice): Promise<void> {
    const question = this.#questions.get(key);
    let message: string | undefined;
    if (question && explains) {
      const options = {
        title: question.approval.title,
        prompt: vscode.l10n.t('Why not? The model reads your answer.'),
      };
      message = await vscode.window.showInputBox(options);
      if (message === undefined) {
        return;
      }
    }
    const decided =
      question &&
      (await this.#daemon.request('tools/decide', {
        turnId: question.turnId,
        toolUseId: question.approval.toolUseId,
        decision,
        ...(remember && { remember }),
        ...(message && { message }),
      }));
    if (!decided?.decided) {
      showInformation(DECIDED);
    }
  }

  /** Decide about the call whose diff is in the active editor, or else about the oldest one that waits. */
  async #decideShown(choice: Choice): Promise<void> {
    const question = this.#find(undefined);
    if (question) {
      await this.#decide(question.key, choice);
    } else {
      showInformation(vscode.l10n.t('No call of a tool waits for a decision.'));
    }
  }

  #find(key: unknown): Question | undefined {
    if (typeof key === 'string') {
      return this.#questions.get(key);
    }
    const shown = this.#diffs.findActive();
    return (shown === undefined ? undefined : this.#questions.get(shown)) ?? [...this.#questions.values()][0];
  }

  async #show(question: Question | undefined): Promise<void> {
    if (question?.approval.diff) {
      await this.#diffs.show(question.key, question.approval.title, question.approval.diff);
    } else {
      showInformation(question ? vscode.l10n.t('This call has no diff.') : DECIDED);
    }
  }

  #forget(key: string): void {
    if (this.#questions.delete(key)) {
      this.#setAsking(this.#questions.size > 0);
      this.#diffs.close(key).catch(showError);
    }
  }
}

/** Show a question in the chat: buttons for the usual answers, and links for the others, which take less space. */
function showInChat({ key, approval }: Question, stream: vscode.ChatResponseStream): void {
  const choices = listChoices(approval);
  const others = choices.filter((each) => each !== ALLOW && each !== DENY);
  const links = [
    ...(approval.diff ? [createLink(vscode.l10n.t('Show Diff'), SHOW, key)] : []),
    ...others.map((choice) => createLink(choice.title, DECIDE, key, choice)),
  ];
  const line = new vscode.MarkdownString(`\n\n${links.join(' · ')}\n\n`);
  // Only this line may run commands: the question contains text of the model.
  line.isTrusted = { enabledCommands: [DECIDE, SHOW] };
  stream.markdown(`\n\n${formatQuestion(approval)}\n\n`);
  stream.markdown(line);
  for (const choice of [ALLOW, DENY]) {
    stream.button({ title: choice.title, command: DECIDE, arguments: [key, choice] });
  }
}

function createLink(title: string, command: string, ...values: unknown[]): string {
  return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify(values))})`;
}
