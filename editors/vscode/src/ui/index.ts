import * as vscode from 'vscode';
import type { Disposable } from 'vscode-jsonrpc/node';

import type { Daemon } from '../daemon/supervisor';
import type { ModelProvider } from '../provider/provider';
import { refreshModels, selectModel } from './account/models';
import { diagnoseModels } from './account/diagnosis';
import { setKey } from './account/keys';
import { openConfiguration, runDoctor, runInTerminal, type FindProgram } from './account/programs';
import { addProvider, manageProviders } from './account/providers';
import { Account } from './account/signIn';
import { showStatus, createStatusBar, watchSignOut } from './account/status';
import { setUtilityModels } from './account/utility';
import { watchSteps } from './account/walkthrough';
import { ask, usePrompt } from './chat/ask';
import { Participant } from './chat/participant';
import { explainTerminal } from './chat/terminal';
import { FactsReader } from './common/facts';
import { registerCommand, showInformation, watchFailures, watchMessages } from './common/messages';
import { useProviders } from './common/problems';
import { SessionUsage } from './common/usage';
import { registerCompletions } from './completions';
import { ConversationActions } from './conversations/actions';
import { Conversations } from './conversations/conversations';
import { showHistory } from './conversations/history';
import { CodeActions } from './edit/codeActions';
import { Edits } from './edit/edits';
import { explain, fixProblems } from './edit/problems';
import { writeCommitMessage } from './scm/commit';
import { Approvals } from './tools/approvals';
import { registerFileTools } from './tools/registered';
import { chooseTools } from './tools/selection';
import { TranscriptHelp } from './transcripts/help';
import { TranscriptSender } from './transcripts/send';
import { Transcripts } from './transcripts/transcripts';

function asText(value: unknown): string | undefined {
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
  // This is called after each turn, which has changed the quota. The quota is only displayed, so ignore failures.
  const refreshQuota = (provider: string): void => {
    facts.refreshAccount(provider).catch(() => undefined);
  };
  const usage = new SessionUsage(daemon);
  const account = new Account(daemon);
  const approvals = new Approvals(daemon);
  const edits = new Edits(daemon);
  const transcripts = new Transcripts(daemon);
  const actions = new ConversationActions(daemon, transcripts);
  const icon = vscode.Uri.joinPath(context.extensionUri, 'images', 'icon.png');
  return [
    facts,
    usage,
    createStatusBar(facts, usage),
    watchSteps(facts),
    watchFailures(daemon),
    watchMessages(daemon),
    watchSignOut(daemon, () => account.isSigningOut),
    approvals.register(),
    registerFileTools(daemon, approvals),
    registerCompletions(daemon),
    new Participant(daemon, models, approvals, refreshQuota).register(icon),
    edits.register(),
    CodeActions.register(),
    registerCommand('jumpseat.fix', (problems?: vscode.Diagnostic[]) => fixProblems(edits, problems)),
    registerCommand('jumpseat.explain', (problems?: vscode.Diagnostic[]) => explain(problems)),
    registerCommand('jumpseat.explainTerminal', explainTerminal),
    registerCommand('jumpseat.writeCommitMessage', (control?: unknown) =>
      writeCommitMessage(daemon, control),
    ),
    transcripts.register(),
    new TranscriptSender(daemon, transcripts, refreshQuota).register(),
    new TranscriptHelp(daemon, facts, transcripts).register(),
    new Conversations(daemon).register(actions),
    registerCommand('jumpseat.ask', (question?: unknown) => ask(asText(question))),
    registerCommand('jumpseat.usePrompt', (name?: unknown) => usePrompt(daemon, asText(name))),
    registerCommand('jumpseat.selectModel', (id?: unknown) => selectModel(daemon, asText(id))),
    registerCommand('jumpseat.refreshModels', async () => {
      showInformation(await refreshModels(daemon, models));
    }),
    registerCommand('jumpseat.setUtilityModels', () => setUtilityModels(daemon)),
    registerCommand('jumpseat.selectTools', () => chooseTools(daemon)),
    registerCommand('jumpseat.signIn', (provider?: unknown) => account.signIn(asText(provider))),
    registerCommand('jumpseat.signOut', (provider?: unknown) => account.signOut(asText(provider))),
    registerCommand('jumpseat.status', () => showStatus(daemon, facts.current.failures, usage.describe())),
    registerCommand('jumpseat.history', () => {
      showHistory(daemon, actions);
    }),
    registerCommand('jumpseat.installLocalModel', () =>
      runInTerminal(program, vscode.l10n.t('Install the local model'), ['local', 'install']),
    ),
    registerCommand('jumpseat.setKey', (provider?: unknown) => setKey(daemon, asText(provider))),
    registerCommand('jumpseat.manageProviders', () => manageProviders(daemon)),
    registerCommand('jumpseat.addProvider', () => addProvider(daemon)),
    registerCommand('jumpseat.diagnoseModels', (provider?: unknown) =>
      diagnoseModels(daemon, asText(provider)),
    ),
    registerCommand('jumpseat.openConfiguration', () => openConfiguration(program)),
    registerCommand('jumpseat.doctor', () => runDoctor(program)),
    registerCommand('jumpseat.showLog', () => {
      log.show();
    }),
    registerCommand('jumpseat.restart', async () => {
      await daemon.restart();
      showInformation(vscode.l10n.t('jumpseat was restarted.'));
      // The new process may use a daemon that other editors share. That daemon may have old lists, so fetch new ones.
      await refreshModels(daemon, models);
    }),
  ];
}
