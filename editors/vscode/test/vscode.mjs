// Gives the tests the part of the module `vscode` that needs no editor. Only VS Code itself has the module.
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
