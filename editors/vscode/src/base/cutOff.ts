import { l10n } from 'vscode';

/** Why an answer is incomplete, by stop reason. */
const REASONS: Record<string, string> = {
  max_tokens: l10n.t('The answer reached its maximum length.'),
  content_filter: l10n.t('A filter of the provider cut off the answer.'),
  context_exceeded: l10n.t('The context of the model is full. Start a new chat, or send less.'),
  max_rounds: l10n.t('The model reached a limit on tool use.'),
  pause_turn: l10n.t('The provider paused the answer before its end.'),
};

/** Describe why an answer with this stop reason is incomplete. Returns undefined for stop reasons without an entry. */
export function describeCutOff(stopReason: string): string | undefined {
  return Object.hasOwn(REASONS, stopReason) ? REASONS[stopReason] : undefined;
}
