import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { Daemon } from '../daemon/supervisor';
import type { ModelProvider } from '../provider/provider';
import { ask, usePrompt } from './ask';
import { ConversationActions } from './conversationActions';
import { Conversations } from './conversations';
import { Edits } from './edit';
import { FactsReader } from './facts';
import { showHistory } from './history';
import { command, showInformation, watchFailures, watchMessages } from './messages';
import { refreshModels, selectModel } from './models';
import { Participant } from './participant';
import { useProviders } from './problems';
import { openConfiguration, runDoctor, runInTerminal, setKey, type FindProgram } from './programs';
import { TranscriptSender } from './sendTranscript';
import { Account } from './signIn';
import { showStatus, statusBar, watchSignOut } from './status';
import { TranscriptHelp } from './transcriptHelp';
import { Transcripts } from './transcripts';
import { watchSteps } from './walkthrough';

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** All that the user sees, except the models in VS Code's own picker. */
export function registerUi(
  context: vscode.ExtensionContext,
  daemon: Daemon,
  models: ModelProvider,
  log: vscode.LogOutputChannel,
  program: FindProgram,
): Disposable[] {
  const facts = new FactsReader(daemon);
  useProviders(() => facts.current.providers);
  // The quota has changed with the turn; it is only shown, so a failure is no news.
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
      // The new process may share its lists with other editors.
      await refreshModels(daemon, models);
    }),
  ];
}
