import * as vscode from 'vscode';

import type { ModelInfo } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { VENDOR } from '../../provider/provider';
import { showInformation } from '../common/messages';
import { describeAbilities, describeLimits } from '../common/words';
import { recommendModels } from './recommendation';

interface Row extends vscode.QuickPickItem {
  model?: ModelInfo;
}

/** Let the user choose the models for VS Code's own titles, summaries and similar texts. Recommended models come first. */
export async function setUtilityModels(daemon: Daemon): Promise<void> {
  const { models } = await daemon.request('models/list', {});
  const recommended = recommendModels(models);
  if (!recommended) {
    showInformation(vscode.l10n.t('No provider has models yet. "jumpseat: Manage Providers" adds one.'));
    return;
  }
  const { usable, utility, small } = recommended;
  const forTexts = await pick(vscode.l10n.t('Model for summaries and other texts (1 of 2)'), usable, utility);
  const forTitles =
    forTexts && (await pick(vscode.l10n.t('Model for titles and other short texts (2 of 2)'), usable, small));
  if (!forTexts || !forTitles) {
    return;
  }
  const settings = vscode.workspace.getConfiguration('chat');
  // VS Code identifies a model in these settings by its vendor and its id.
  const set = (name: string, { id }: ModelInfo): Thenable<void> =>
    settings.update(name, `${VENDOR}/${id}`, vscode.ConfigurationTarget.Global);
  await set('utilityModel', forTexts);
  await set('utilitySmallModel', forTitles);
  showInformation(
    vscode.l10n.t('VS Code now uses {0} for texts and {1} for titles.', forTexts.name, forTitles.name),
  );
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
    { label: vscode.l10n.t('Recommended'), kind: vscode.QuickPickItemKind.Separator },
    toRow(recommended),
    { label: vscode.l10n.t('Others'), kind: vscode.QuickPickItemKind.Separator },
    ...models.filter((model) => model !== recommended).map(toRow),
  ];
  return (
    await vscode.window.showQuickPick(rows, {
      title,
      placeHolder: vscode.l10n.t('Model'),
      matchOnDescription: true,
    })
  )?.model;
}
