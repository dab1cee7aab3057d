import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import type { Log } from '../base/log';
import { thinkingEnd, thinkingPart, type ModelRow, type ResponseOptions } from '../base/untyped';
import { Code, DaemonError, asDaemonError } from '../daemon/errors';
import type { ChatParams, ModelInfo } from '../daemon/protocol';
import type { Daemon } from '../daemon/supervisor';
import { Answer, checkWhole, type Parts } from './answer';
import { ModelList } from './list';
import { convertConversation, convertTools } from './messages';
import { DEFAULT_ID, listRows } from './models';
import { selectParameters } from './options';
import { estimate } from './tokens';

export const VENDOR = 'jumpseat';

const PARTS: Parts<vscode.LanguageModelResponsePart> = {
  text: (text) => new vscode.LanguageModelTextPart(text),
  thinking: thinkingPart,
  thinkingEnd,
  toolCall: (id, name, input) => new vscode.LanguageModelToolCallPart(id, name, input),
  usage: (counts) => vscode.LanguageModelDataPart.json(counts, 'usage'),
};

/** Provides the daemon's models to VS Code's chat, its agents and other extensions. */
export class ModelProvider implements vscode.LanguageModelChatProvider<ModelRow>, vscode.Disposable {
  readonly #daemon: Daemon;
  readonly #log: Log;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: { dispose(): unknown }[];
  readonly #list: ModelList;

  readonly onDidChangeLanguageModelChatInformation = this.#changed.event;

  constructor(daemon: Daemon, log: Log) {
    this.#daemon = daemon;
    this.#log = log;
    this.#list = new ModelList(daemon, log, () => {
      this.#changed.fire();
    });
    const invalidateList = () => {
      this.#list.invalidate();
      this.#changed.fire();
    };
    this.#subscriptions = [
      this.#changed,
      daemon.onNotification('models/didChange', invalidateList),
      daemon.onNotification('providers/didChange', invalidateList),
      daemon.onNotification('settings/didChange', invalidateList),
      daemon.onNotification('auth/didChange', invalidateList),
      daemon.onDidChangeState((state) => {
        if (state === 'ready') {
          // Do this at the first start too: VS Code restores the models of its previous run without their menus, such as
          // the one for the thinking level.
          this.#changed.fire();
        }
      }),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) {
          this.check();
        }
      }),
    ];
  }

  /** Look for new models. This does not start the daemon. */
  check(): void {
    if (this.#daemon.state === 'ready') {
      this.#list.check();
    }
  }

  /** Return a model by its id, or the default model. Returns undefined if it is not listed. */
  findModel(id: string | undefined): Promise<ModelInfo | undefined> {
    return this.#list.find(id);
  }

  async provideLanguageModelChatInformation(options: { silent: boolean }): Promise<ModelRow[]> {
    if (!options.silent) {
      // The user has chosen jumpseat in "Add Models" of VS Code's list of models.
      await vscode.commands.executeCommand('jumpseat.manageProviders');
    }
    try {
      return listRows(await this.#list.waitForModels());
    } catch (error) {
      // VS Code shows this text in its list of models.
      throw createError(asDaemonError(error).sentence);
    }
  }

  async provideLanguageModelChatResponse(
    model: ModelRow,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    options: ResponseOptions,
    progress: vscode.Progress<vscode.LanguageModelResponsePart>,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const turnId = randomUUID();
    const params = this.#buildParams(turnId, model, messages, options);
    const answer = new Answer(
      turnId,
      PARTS,
      (part) => {
        progress.report(part);
      },
      this.#log,
    );
    try {
      const result = await this.#daemon.turn('chat/start', params, answer.take, token);
      checkWhole(result, params.maxTokens !== undefined);
    } catch (error) {
      throw this.#toFailure(error, token);
    } finally {
      this.check();
    }
  }

  provideTokenCount(
    _model: ModelRow,
    text: string | vscode.LanguageModelChatRequestMessage,
  ): Promise<number> {
    return Promise.resolve(estimate(text));
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  #buildParams(
    turnId: string,
    model: ModelRow,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    options: ResponseOptions,
  ): ChatParams {
    const skipped = new Set<string>();
    const conversation = convertConversation(messages, (what) => skipped.add(what));
    for (const what of skipped) {
      this.#log.debug(`Not sent: ${what}.`);
    }
    const isDefault = model.id === DEFAULT_ID;
    const provider = isDefault ? this.#list.default?.provider : model.id.slice(0, model.id.indexOf(':'));
    const tools = convertTools(options.tools ?? []);
    const required = options.toolMode === vscode.LanguageModelChatToolMode.Required;
    return {
      turnId,
      ...(!isDefault && { model: model.id }),
      ...conversation,
      ...(tools.length && { tools, toolChoice: required ? 'required' : 'auto' }),
      ...selectParameters(options.modelOptions, options.modelConfiguration, this.#list.settingsOf(provider)),
    };
  }

  #toFailure(error: unknown, token: vscode.CancellationToken): Error {
    if (token.isCancellationRequested) {
      return new vscode.CancellationError();
    }
    if (!(error instanceof DaemonError)) {
      return createError(error instanceof Error ? error.message : String(error));
    }
    this.#log.error(error.sentence);
    switch (error.code) {
      case Code.authentication:
      case Code.authorization:
        return removeStack(vscode.LanguageModelError.NoPermissions(error.sentence));
      case Code.quotaExceeded:
        return removeStack(vscode.LanguageModelError.Blocked(error.sentence));
      case Code.request:
        // A 404 means that the provider does not know the model.
        return error.data.statusCode === 404
          ? removeStack(vscode.LanguageModelError.NotFound(error.sentence))
          : createError(error.sentence);
      default:
        return createError(error.sentence);
    }
  }
}

function createError(message: string): Error {
  return removeStack(new Error(message));
}

/** Remove the stack from an error: VS Code's chat would show it to the user. */
function removeStack<E extends Error>(error: E): E {
  error.stack = '';
  return error;
}
