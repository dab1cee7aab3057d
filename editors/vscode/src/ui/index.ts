import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { Daemon } from '../daemon/supervisor';
import type { ModelProvider } from '../provider/provider';
import { refreshModels, selectModel } from './account/models';
import { openConfiguration, runDoctor, runInTerminal, setKey, type FindProgram } from './account/programs';
import { Account } from './account/signIn';
import { showStatus, statusBar, watchSignOut } from './account/status';
import { watchSteps } from './account/walkthrough';
import { ask, usePrompt } from './chat/ask';
import { Participant } from './chat/participant';
import { FactsReader } from './common/facts';
import { command, showInformation, watchFailures, watchMessages } from './common/messages';
import { useProviders } from './common/problems';
import { ConversationActions } from './conversations/actions';
import { Conversations } from './conversations/conversations';
import { showHistory } from './conversations/history';
import { Edits } from './edit/edit';
import { TranscriptHelp } from './transcripts/help';
import { TranscriptSender } from './transcripts/send';
import { Transcripts } from './transcripts/transcripts';

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Register the user interface, except for the models in VS Code's own picker. */
export function registerUi(
  context: vscode.ExtensionContext,
  daemon: Daemon,
  models: ModelProvider,
  log: vscode.LogOutputChannel,
  program: FindProgram,
): Disposable[] {
  const facts = new FactsReader(daemon);
  useProviders(() => facts.current.providers);
  // The turn has changed the quota. It is only displayed, so failures are ignored.
  const ended = (provider: string): void => {
    facts.refreshAccount(provider).catch(() => undefined);
  };
  const account = new Account(daemon);
  const transcripts = new Transcripts(daemon);
  const actions = new ConversationActions(daemon, transcripts);
  const icon = vscode.Uri.joinPath(context.extensionUri, 'images', 'icon.png');
  return [
    facts,
    statusBar(facts),
    watchSteps(facts),
    watchFailures(daemon),
    watchMessages(daemon),
    watchSignOut(daemon, () => account.isLeaving),
    new Participant(daemon, ended).register(icon),
    new Edits(daemon).register(),
    transcripts.register(),
    new TranscriptSender(daemon, transcripts, ended).register(),
    new TranscriptHelp(daemon, facts, transcripts).register(),
    new Conversations(daemon).register(actions),
    command('jumpseat.ask', (question?: unknown) => ask(text(question))),
    command('jumpseat.usePrompt', (name?: unknown) => usePrompt(daemon, text(name))),
    command('jumpseat.selectModel', (id?: unknown) => selectModel(daemon, text(id))),
    command('jumpseat.refreshModels', async () => {
      showInformation(await refreshModels(daemon, models));
    }),
    command('jumpseat.signIn', (provider?: unknown) => account.signIn(text(provider))),
    command('jumpseat.signOut', (provider?: unknown) => account.signOut(text(provider))),
    command('jumpseat.status', () => showStatus(daemon, facts.current.failures)),
    command('jumpseat.history', () => {
      showHistory(daemon, actions);
    }),
    command('jumpseat.installLocalModel', () =>
      runInTerminal(program, 'Install the local model', ['local', 'install']),
    ),
    command('jumpseat.setKey', (provider?: unknown) => setKey(program, daemon, text(provider))),
    command('jumpseat.openConfiguration', () => openConfiguration(program)),
    command('jumpseat.doctor', () => runDoctor(program)),
    command('jumpseat.showLog', () => {
      log.show();
    }),
    command('jumpseat.restart', async () => {
      await daemon.restart();
      showInformation('jumpseat was restarted.');
      // The new process may share its lists with other editors, so fetch them again.
      await refreshModels(daemon, models);
    }),
  ];
}
