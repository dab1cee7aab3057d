import * as vscode from 'vscode';

import type { ToolApproval, ToolDelta } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { createContextSetter, registerCommand, showError, showInformation } from '../common/messages';
import { DiffDocuments } from './diffs';
import { ALLOW, DENY, explainReason, formatApproval, listChoices, type Choice } from './words';

const DECIDE = 'jumpseat.decideCall';
const SHOW = 'jumpseat.showCall';
const DECIDED = vscode.l10n.t('This call is no longer waiting for approval.');

/** A call that waits for approval. */
interface PendingApproval {
  key: string;
  turnId: string;
  approval: ToolApproval;
}

/** Shows the tool calls that wait for approval, in the chat and as notifications, and sends the user's decisions. */
export class Approvals {
  readonly #daemon: Daemon;
  readonly #diffs = new DiffDocuments();
  readonly #pending = new Map<string, PendingApproval>();
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

  /** Handle a delta about a call of a turn. If `stream` is given, the chat also shows a request for approval. */
  handle(turnId: string, delta: ToolDelta, stream?: vscode.ChatResponseStream): void {
    const key = `${turnId} ${delta.toolUseId}`;
    if (delta.type === 'tool_status') {
      this.#forget(key);
      return;
    }
    const pending = { key, turnId, approval: delta };
    this.#pending.set(key, pending);
    this.#setAsking(true);
    if (stream) {
      showInChat(pending, stream);
    }
    this.#notify(pending).catch(showError);
  }

  /** Allow a call that the user has already confirmed in VS Code's own dialog. */
  async allow(turnId: string, toolUseId: string): Promise<void> {
    await this.#daemon.request('tools/decide', { turnId, toolUseId, decision: 'allow' });
  }

  /** Withdraw the pending approvals of a turn that has ended. */
  end(turnId: string): void {
    for (const pending of [...this.#pending.values()].filter((each) => each.turnId === turnId)) {
      this.#forget(pending.key);
    }
  }

  async #notify(pending: PendingApproval): Promise<void> {
    const { approval, key } = pending;
    const reason = explainReason(approval);
    const text = `${approval.title}?${reason === undefined ? '' : ` ${reason}`}`;
    const show = approval.diff ? [vscode.l10n.t('Show Diff')] : [];
    const chosen = await vscode.window.showInformationMessage(text, ALLOW.title, ...show, DENY.title);
    if (chosen === vscode.l10n.t('Show Diff')) {
      await this.#show(this.#pending.get(key));
    } else if (chosen !== undefined) {
      await this.#decide(key, chosen === ALLOW.title ? ALLOW : DENY);
    }
  }

  async #decide(key: string, { decision, remember, explains }: Choice): Promise<void> {
    const pending = this.#pending.get(key);
    let message: string | undefined;
    if (pending && explains) {
      const options = {
        title: pending.approval.title,
        prompt: vscode.l10n.t('Reason for denying (sent to the model)'),
      };
      message = await vscode.window.showInputBox(options);
      if (message === undefined) {
        return;
      }
    }
    const result =
      pending &&
      (await this.#daemon.request('tools/decide', {
        turnId: pending.turnId,
        toolUseId: pending.approval.toolUseId,
        decision,
        ...(remember && { remember }),
        ...(message && { message }),
      }));
    if (!result?.decided) {
      showInformation(DECIDED);
    }
  }

  /** Decide about the call whose diff is in the active editor, or else about the oldest waiting call. */
  async #decideShown(choice: Choice): Promise<void> {
    const pending = this.#find(undefined);
    if (pending) {
      await this.#decide(pending.key, choice);
    } else {
      showInformation(vscode.l10n.t('No tool call is waiting for approval.'));
    }
  }

  #find(key: unknown): PendingApproval | undefined {
    if (typeof key === 'string') {
      return this.#pending.get(key);
    }
    const shown = this.#diffs.findActive();
    return (shown === undefined ? undefined : this.#pending.get(shown)) ?? [...this.#pending.values()][0];
  }

  async #show(pending: PendingApproval | undefined): Promise<void> {
    if (pending?.approval.diff) {
      await this.#diffs.show(pending.key, pending.approval.title, pending.approval.diff);
    } else {
      showInformation(pending ? vscode.l10n.t('This call has no diff.') : DECIDED);
    }
  }

  #forget(key: string): void {
    if (this.#pending.delete(key)) {
      this.#setAsking(this.#pending.size > 0);
      this.#diffs.close(key).catch(showError);
    }
  }
}

/** Show a call in the chat. The usual decisions are buttons; the others are links, which take less space. */
function showInChat({ key, approval }: PendingApproval, stream: vscode.ChatResponseStream): void {
  const choices = listChoices(approval);
  const others = choices.filter((each) => each !== ALLOW && each !== DENY);
  const links = [
    ...(approval.diff ? [createLink(vscode.l10n.t('Show Diff'), SHOW, key)] : []),
    ...others.map((choice) => createLink(choice.title, DECIDE, key, choice)),
  ];
  const line = new vscode.MarkdownString(`\n\n${links.join(' · ')}\n\n`);
  // Only this line may run commands: the request contains text of the model.
  line.isTrusted = { enabledCommands: [DECIDE, SHOW] };
  stream.markdown(`\n\n${formatApproval(approval)}\n\n`);
  stream.markdown(line);
  for (const choice of [ALLOW, DENY]) {
    stream.button({ title: choice.title, command: DECIDE, arguments: [key, choice] });
  }
}

function createLink(title: string, command: string, ...values: unknown[]): string {
  return `[${title}](command:${command}?${encodeURIComponent(JSON.stringify(values))})`;
}
