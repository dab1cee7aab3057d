import * as vscode from 'vscode';

import type { ModelInfo } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { VENDOR } from '../../provider/provider';
import { showInformation } from '../common/messages';
import { describeAbilities, describeLimits } from '../common/words';
import { recommendModels } from './recommendation';

interface Row extends vscode.QuickPickItem {
  model: ModelInfo;
}

/** Let the user choose the models that VS Code's own features use beside the chat, starting with a recommendation. */
export async function setUtilityModels(daemon: Daemon): Promise<void> {
  const { models } = await daemon.request('models/list', {});
  const recommended = recommendModels(models);
  if (!recommended) {
    showInformation('No provider has models yet. "jumpseat: Manage Providers" adds one.');
    return;
  }
  const { usable, utility, small } = recommended;
  const forTexts = await pick('Model for summaries and other texts (1 of 2)', usable, utility);
  const forTitles =
    forTexts && (await pick('Model for titles and other short texts (2 of 2)', usable, small));
  if (!forTexts || !forTitles) {
    return;
  }
  const settings = vscode.workspace.getConfiguration('chat');
  // VS Code identifies a model in these settings by its vendor and its id.
  const set = (name: string, { id }: ModelInfo): Thenable<void> =>
    settings.update(name, `${VENDOR}/${id}`, vscode.ConfigurationTarget.Global);
  await set('utilityModel', forTexts);
  await set('utilitySmallModel', forTitles);
  showInformation(`VS Code now uses ${forTexts.name} for texts and ${forTitles.name} for titles.`);
}

async function pick(
  title: string,
  models: readonly ModelInfo[],
  recommended: ModelInfo,
): Promise<ModelInfo | undefined> {
  const toRow = (model: ModelInfo): Row => ({
    label: model.name,
    description: [model.provider, describeLimits(model)].filter(Boolean).join(' · '),
    detail: describeAbilities(model),
    model,
  });
  const rows = [
    { label: 'Recommended', kind: vscode.QuickPickItemKind.Separator, model: recommended },
    toRow(recommended),
    { label: 'Others', kind: vscode.QuickPickItemKind.Separator, model: recommended },
    ...models.filter((model) => model !== recommended).map(toRow),
  ];
  return (await vscode.window.showQuickPick(rows, { title, placeHolder: 'Model', matchOnDescription: true }))
    ?.model;
}
