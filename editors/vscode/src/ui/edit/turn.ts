import { randomUUID } from 'node:crypto';

import { rulesParams } from '../../base/settings';
import type { ContextBlock, EditParams, EditResult } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showRules } from '../common/messages';
import { getPrompt, parsePromptCall } from '../input/prompts';
import { rangeOf, readSurroundings } from '../input/references';
import { rangeOfSpan } from '../text/spans';
import type { Edit } from './edit';
import type { Rewrite } from './rewrite';

/** Let the model rewrite all pieces of an edit. If the turn of one piece fails, the other turns are cancelled. */
export async function runTurns(daemon: Daemon, edit: Edit, onText: () => void): Promise<EditResult[]> {
  const token = edit.stop?.token;
  const request = await buildRequest(daemon, edit);
  const run = (piece: Rewrite): Promise<EditResult> => {
    const range = rangeOfSpan(edit.document, piece.span);
    const target: ContextBlock = {
      type: 'context',
      uri: edit.document.uri.toString(),
      languageId: edit.document.languageId,
      text: piece.sent,
      range: rangeOf(range),
    };
    const params: EditParams = { ...request, target, turnId: randomUUID() };
    const context = readSurroundings(edit.document, range);
    if (context) {
      params.context = [context];
    }
    return daemon.turn(
      'edit/start',
      params,
      (delta) => {
        if (delta.type === 'start') {
          showRules(delta.rules);
        } else if (delta.type === 'response') {
          piece.clear();
        } else if (delta.type === 'text_delta') {
          piece.add(delta.text);
          onText();
        }
      },
      token,
    );
  };
  try {
    return await Promise.all(edit.pieces.map(run));
  } catch (error) {
    edit.stop?.cancel();
    throw error;
  }
}

/** Return the params that are common to all pieces. An instruction may call a prompt: `/fix the loop`. */
async function buildRequest(
  daemon: Daemon,
  { instruction, stop }: Edit,
): Promise<Omit<EditParams, 'target' | 'turnId'>> {
  const call = parsePromptCall(instruction);
  const prompt = call && (await getPrompt(daemon, call, stop?.token));
  return {
    instruction: prompt?.text ?? instruction,
    // Allow as many tokens as the model can write, because a truncated edit cannot be applied.
    maxTokensDefault: 'model',
    ...rulesParams(),
    ...(prompt?.model !== undefined && { model: prompt.model }),
    ...(prompt?.system !== undefined && { system: prompt.system }),
    ...(prompt?.settings && { settings: prompt.settings }),
  };
}
