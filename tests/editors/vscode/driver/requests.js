// Sends requests to language models, as another extension does. Converts messages from JSON and answers to JSON.
'use strict';

const vscode = require('vscode');

const ROLES = {
  user: vscode.LanguageModelChatMessageRole.User,
  assistant: vscode.LanguageModelChatMessageRole.Assistant,
  // The published types lack this role, which Copilot Chat sends.
  system: 3,
};

function partOf(part) {
  if (typeof part === 'string') {
    return new vscode.LanguageModelTextPart(part);
  }
  if (part.call) {
    return new vscode.LanguageModelToolCallPart(part.call, part.name, part.input);
  }
  if (part.result) {
    return new vscode.LanguageModelToolResultPart(part.result, part.content.map(partOf));
  }
  if (part.thinking !== undefined) {
    return new vscode.LanguageModelThinkingPart(part.thinking, part.id, part.metadata);
  }
  return new vscode.LanguageModelDataPart(Buffer.from(part.base64 ?? '', 'base64'), part.mime);
}

function messageOf({ role, content, name }) {
  return new vscode.LanguageModelChatMessage(ROLES[role], [content].flat().map(partOf), name);
}

function jsonOf(part) {
  if (part instanceof vscode.LanguageModelTextPart) {
    return part.value;
  }
  if (part instanceof vscode.LanguageModelToolCallPart) {
    return { call: part.callId, name: part.name, input: part.input };
  }
  if (part instanceof vscode.LanguageModelDataPart) {
    return { mime: part.mimeType, base64: Buffer.from(part.data).toString('base64') };
  }
  if (part instanceof vscode.LanguageModelThinkingPart) {
    return { thinking: part.value, id: part.id, metadata: part.metadata };
  }
  return { unknown: String(part) };
}

/** Return the models that VS Code lists. */
async function models(selector) {
  const found = await vscode.lm.selectChatModels(selector);
  return found.map(({ vendor, id, name, family, version, maxInputTokens }) => ({
    vendor,
    id,
    name,
    family,
    version,
    maxInputTokens,
  }));
}

async function model(id) {
  const [found] = await vscode.lm.selectChatModels({ id });
  if (!found) {
    throw new Error(`no model ${id}`);
  }
  return found;
}

/** Start a request. `parts` and `times` (in ms) grow while it runs, and `done` is true once it has ended. */
function start(id, messages, options = {}) {
  const source = new vscode.CancellationTokenSource();
  const running = { parts: [], times: [], done: false, error: undefined, stop: () => source.cancel() };
  running.ended = (async () => {
    try {
      const chosen = await model(id);
      const response = await chosen.sendRequest(messages.map(messageOf), options, source.token);
      for await (const part of response.stream) {
        running.parts.push(jsonOf(part));
        running.times.push(performance.now());
      }
    } catch (error) {
      running.error = { name: error.name, code: error.code, message: error.message };
    } finally {
      running.done = true;
    }
    return { parts: running.parts, error: running.error };
  })();
  return running;
}

module.exports = { messageOf, model, models, start };
