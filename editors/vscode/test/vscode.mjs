// Provides the part of the module `vscode` that does not need an editor. The real module exists only inside VS Code.
import Module from 'node:module';
import { Emitter } from 'vscode-jsonrpc/node';

const vscode = {
  EventEmitter: Emitter,
  env: { language: 'en' },
  l10n: {
    t: (message, ...values) => message.replaceAll(/\{(\d+)\}/g, (_, index) => String(values[index])),
  },
};
const load = Module._load;

Module._load = (request, ...rest) => (request === 'vscode' ? vscode : load(request, ...rest));
