import * as vscode from 'vscode';

import type { Daemon } from '../../daemon/supervisor';
import { registerCommand } from '../common/messages';
import { selectCompletionModel, toggleCompletions } from './choose';
import { InlineCompletions } from './inline';
import { CompletionState } from './state';
import { createCompletionStatus } from './status';

/** Register the inline completions, which are off until the user turns them on. */
export function registerCompletions(daemon: Daemon): vscode.Disposable {
  const state = new CompletionState();
  return vscode.Disposable.from(
    state,
    new InlineCompletions(daemon, state).register(),
    createCompletionStatus(state),
    registerCommand('jumpseat.toggleCompletions', () => toggleCompletions(daemon)),
    registerCommand('jumpseat.selectCompletionModel', () => selectCompletionModel(daemon)),
  );
}
