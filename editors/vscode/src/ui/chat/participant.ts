import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import { keepsConversations } from '../../base/settings';
import { addDetails, modelConfiguration } from '../../base/untyped';
import { asDaemonError, type DaemonError } from '../../daemon/errors';
import type { Block, ChatParams, ChatResult, PartialResult, Prompt } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { DEFAULT_ID, thinkingOf } from '../../provider/models';
import { VENDOR, type ModelProvider } from '../../provider/provider';
import { markShown } from '../common/messages';
import { findActions, asMarkdown, SELECT_MODEL } from '../common/problems';
import { formatUsage } from '../common/usage';
import { questionBlocks } from '../input/contexts';
import { formatPromptList, getPrompt, parsePromptCall, type PromptCall } from '../input/prompts';
import { readAttachedBlocks, readSelectedBlocks } from '../input/references';
import type { Approvals } from '../tools/approvals';
import { selectTools } from '../tools/selection';
import { AnswerStream } from './answerStream';
import {
  asMetadata,
  findConversation,
  buildMessages,
  NOT_SENT,
  readRecord,
  type PastTurn,
  type TurnRecord,
} from './turns';

const ID = 'jumpseat.chat';
const PROMPT_COMMAND = 'prompt';
/** The daemon's prompts by the chat command that uses them. The user's configuration can replace each prompt. */
const PROMPTS: Readonly<Record<string, string>> = {
  explain: 'explain',
  fix: 'fix',
  tests: 'tests',
  doc: 'docs',
};
/** The stop reasons after which the model can go on. */
const CONTINUED: ReadonlySet<string> = new Set(['max_tokens', 'max_rounds', 'pause_turn']);
/** VS Code's own picker, which determines the model for the next question. */
const MODEL_PICKER = 'workbench.action.chat.openModelPicker';

/** The `@jumpseat` participant of the chat view. */
export class Participant {
  readonly #daemon: Daemon;
  readonly #models: Pick<ModelProvider, 'findModel'>;
  readonly #approvals: Approvals;
  readonly #onTurnEnd: (provider: string) => void;

  /** `onTurnEnd` is called with the provider of each finished turn. */
  constructor(
    daemon: Daemon,
    models: Pick<ModelProvider, 'findModel'>,
    approvals: Approvals,
    onTurnEnd: (provider: string) => void,
  ) {
    this.#daemon = daemon;
    this.#models = models;
    this.#approvals = approvals;
    this.#onTurnEnd = onTurnEnd;
  }

  register(icon: vscode.Uri): Disposable {
    const participant = vscode.chat.createChatParticipant(ID, (request, context, stream, token) =>
      this.#handle(request, context, stream, token),
    );
    participant.iconPath = icon;
    participant.followupProvider = {
      provideFollowups: (result, context) => suggestFollowups(result, context),
    };
    return participant;
  }

  async #handle(
    request: vscode.ChatRequest,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    try {
      const call = parseCall(request);
      if (call?.name === '') {
        return await this.#listPrompts(stream, token);
      }
      const defaultModel = selectedModel(request);
      const prompt =
        call &&
        (await getPrompt(
          this.#daemon,
          { ...call, ...(defaultModel !== undefined && { defaultModel }) },
          token,
        ));
      const past = readPastTurns(context);
      const attached = await readAttachedBlocks(request.references);
      if (attached.length === 0 && isAboutCode(request)) {
        attached.push(...readSelectedBlocks());
      }
      const question = questionBlocks(attached, prompt?.text ?? request.prompt);
      const params = buildParams(request, prompt, past, question);
      const tools = selectTools(request.toolReferences);
      // A request with tools fails if the model cannot call tools.
      if (tools.daemonTools && (await this.#models.findModel(params.model))?.supportsToolUse) {
        Object.assign(params, tools);
      }
      return await this.#runTurn(request, params, question, stream, token);
    } catch (error) {
      return { ...showFailure(asDaemonError(error), request, stream), metadata: asMetadata(NOT_SENT) };
    }
  }

  async #runTurn(
    request: vscode.ChatRequest,
    params: ChatParams & { turnId: string },
    question: Block[],
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const answer = new AnswerStream(stream, params.model !== request.model.id);
    const progress = this.#daemon.onNotification('$/progress', ({ token: progressToken, value }) => {
      const text = value.message ?? value.title;
      if (progressToken === params.turnId && text !== undefined) {
        stream.progress(text);
      }
    });
    const record: TurnRecord = { user: question, assistant: [] };
    try {
      const result = await this.#daemon.turn(
        'chat/start',
        params,
        (delta) => {
          answer.add(delta);
          if (delta.type === 'tool_approval' || delta.type === 'tool_status') {
            this.#approvals.handle(params.turnId, delta, stream);
          }
        },
        token,
      );
      answer.close(result);
      Object.assign(record, toRecord(result));
      return addDetails({ metadata: asMetadata(record) }, describeAnswer(result));
    } catch (error) {
      const failure = asDaemonError(error);
      answer.showNotices();
      record.assistant = failure.data.partial?.content ?? answer.content();
      record.failed = true;
      const conversationId = failure.data.partial?.conversationId ?? answer.conversationId;
      if (conversationId !== undefined) {
        record.conversationId = conversationId;
      }
      const metadata = asMetadata(record);
      // A turn that the user stopped is not an error: its partial answer stays visible.
      const shown = failure.cancelled ? { metadata } : { ...showFailure(failure, request, stream), metadata };
      return failure.data.partial ? addDetails(shown, describeAnswer(failure.data.partial)) : shown;
    } finally {
      progress.dispose();
      this.#approvals.end(params.turnId);
      if (answer.provider !== undefined) {
        this.#onTurnEnd(answer.provider);
      }
    }
  }

  /** List the prompts that can be used as `/NAME`. VS Code itself lists only the commands in `package.json`. */
  async #listPrompts(
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const { prompts } = await this.#daemon.request('prompts/list', {}, token);
    stream.markdown(formatPromptList(prompts));
    for (const { name } of prompts) {
      stream.button({ title: `/${name}`, command: 'jumpseat.usePrompt', arguments: [name] });
    }
    return { metadata: asMetadata(NOT_SENT) };
  }
}

/** Whether a question uses a command whose prompt needs code. */
function isAboutCode({ command }: vscode.ChatRequest): boolean {
  return command !== undefined && command in PROMPTS;
}

/** Return the prompt that a question calls with a command or `/NAME`. The name is empty for `/prompt` without a name. */
function parseCall(request: vscode.ChatRequest): PromptCall | undefined {
  const name = PROMPTS[request.command ?? ''];
  if (name !== undefined) {
    return { name, input: request.prompt.trim() };
  }
  return request.command === PROMPT_COMMAND
    ? (parsePromptCall(`/${request.prompt.trim()}`) ?? { name: '', input: '' })
    : parsePromptCall(request.prompt);
}

function readPastTurns(context: vscode.ChatContext): PastTurn[] {
  const past: PastTurn[] = [];
  for (const turn of context.history) {
    if (turn instanceof vscode.ChatRequestTurn) {
      past.push({ prompt: turn.prompt, answer: '' });
      continue;
    }
    const last = past.at(-1);
    if (last && turn instanceof vscode.ChatResponseTurn) {
      last.answer = turn.response
        .map((part) => (part instanceof vscode.ChatResponseMarkdownPart ? part.value.value : ''))
        .join('');
      const record = readRecord(turn.result.metadata);
      if (record) {
        last.record = record;
      }
    }
  }
  return past;
}

/** Return the selected model, or undefined for the default model. A model of another vendor is replaced with the default. */
function selectedModel({ model }: vscode.ChatRequest): string | undefined {
  return model.vendor === VENDOR && model.id !== DEFAULT_ID ? model.id : undefined;
}

function buildParams(
  request: vscode.ChatRequest,
  prompt: Prompt | undefined,
  past: readonly PastTurn[],
  question: Block[],
): ChatParams & { turnId: string } {
  const turnId = randomUUID();
  const model = prompt?.model ?? selectedModel(request);
  const thinking = thinkingOf(modelConfiguration(request));
  const conversationId = findConversation(past);
  return {
    messages: buildMessages(past, question),
    turnId,
    workDoneToken: turnId,
    keep: keepsConversations(),
    ...(model !== undefined && { model }),
    ...(thinking && { thinking }),
    ...(prompt?.system !== undefined && { system: prompt.system }),
    ...(prompt?.settings && { settings: prompt.settings }),
    ...(conversationId !== undefined && { conversationId }),
  };
}

/** Return the footer of an answer: its model, tokens and cost. */
function describeAnswer({ provider, model, usage }: PartialResult): string {
  return [`${provider}:${model}`, formatUsage(usage)].filter(Boolean).join(' · ');
}

function toRecord(result: ChatResult): Partial<TurnRecord> {
  return {
    assistant: result.content,
    stopReason: result.stopReason,
    ...(result.stopReason === 'refusal' && { refused: true }),
    ...(result.conversationId !== undefined && { conversationId: result.conversationId }),
  };
}

function showFailure(
  failure: DaemonError,
  request: vscode.ChatRequest,
  stream: vscode.ChatResponseStream,
): vscode.ChatResult {
  if (failure.cancelled) {
    return {};
  }
  markShown(failure);
  for (const action of findActions(failure)) {
    const usesPicker = action === SELECT_MODEL && request.model.vendor === VENDOR;
    stream.button(usesPicker ? { ...action, command: MODEL_PICKER } : action);
  }
  return { errorDetails: { message: asMarkdown(failure) } };
}

function suggestFollowups(result: vscode.ChatResult, context: vscode.ChatContext): vscode.ChatFollowup[] {
  const record = readRecord(result.metadata);
  if (CONTINUED.has(record?.stopReason ?? '')) {
    return [{ prompt: vscode.l10n.t('Go on.'), label: vscode.l10n.t('Continue') }];
  }
  const last = context.history.findLast((turn) => turn instanceof vscode.ChatRequestTurn);
  if (last && result.errorDetails) {
    return [
      {
        prompt: last.prompt,
        label: vscode.l10n.t('Try again'),
        ...(last.command !== undefined && { command: last.command }),
      },
    ];
  }
  return [];
}
