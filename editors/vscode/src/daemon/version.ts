import { l10n } from 'vscode';

import { createSetUpError } from './errors';
import type { InitializeResult, Requests } from './protocol';

/** The methods that this extension requires. Code that uses another method checks `Daemon.supports` first. */
const NEEDED: (keyof Requests)[] = [
  'chat/start',
  'edit/start',
  'models/list',
  'providers/list',
  'auth/signIn',
  'conversations/list',
  'transcript/render',
  'keys/set',
  'providers/add',
  'tools/run',
];

/** Throw an error with advice if the daemon is too old or too new for this extension. */
export function checkVersion(info: InitializeResult, program: string): void {
  const abilities = info.capabilities.experimental?.jumpseat;
  const name = l10n.t('jumpseat {0} at {1}', info.serverInfo.version, program);
  if (abilities?.protocolVersion !== 1) {
    throw createSetUpError(
      l10n.t('{0} uses a different version of the protocol than this extension.', name),
      l10n.t('Install the same version of the extension and of jumpseat.'),
    );
  }
  const missing = NEEDED.find((method) => !abilities.methods.includes(method));
  if (missing) {
    throw createSetUpError(
      l10n.t('{0} is too old for this extension (it lacks {1}).', name, missing),
      l10n.t('Upgrade it, or empty the setting jumpseat.path so that the extension uses its own.'),
    );
  }
}
