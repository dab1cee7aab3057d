import * as vscode from 'vscode';

import type { Provider, SettingsRow, Template } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { showInformation, showWarning } from '../common/messages';
import { findSetUpActions } from '../common/problems';
import { describeAccount, hasSignIn } from '../common/words';
import { findMistake, formatRule, parseValue } from './fields';
import { askForKey, storeKey } from './keys';

interface Row extends vscode.QuickPickItem {
  run?: () => unknown;
}

function command(label: string, id: string, ...values: unknown[]): Row {
  return { label, run: () => vscode.commands.executeCommand(id, ...values) };
}

async function choose(title: string, placeHolder: string, rows: readonly Row[]): Promise<void> {
  const chosen = await vscode.window.showQuickPick(rows, { title, placeHolder, matchOnDescription: true });
  await chosen?.run?.();
}

/** Let the user manage a provider or add one. VS Code's list of models runs this if the user chooses to manage jumpseat. */
export async function manageProviders(daemon: Daemon): Promise<void> {
  const { providers } = await daemon.request('providers/list', {});
  await choose(
    vscode.l10n.t('Providers of jumpseat'),
    vscode.l10n.t('Add a provider, or choose one to change it'),
    [
      command(`$(add) ${vscode.l10n.t('Add Provider…')}`, 'jumpseat.addProvider'),
      command(`$(pulse) ${vscode.l10n.t('Diagnose Models')}`, 'jumpseat.diagnoseModels'),
      command(`$(json) ${vscode.l10n.t('Open Configuration')}`, 'jumpseat.openConfiguration'),
      { label: vscode.l10n.t('Providers'), kind: vscode.QuickPickItemKind.Separator },
      ...providers.map((each) => ({
        label: each.name,
        description: describeAccount(each),
        run: () => manageProvider(daemon, each),
      })),
    ],
  );
}

async function manageProvider(daemon: Daemon, provider: Provider): Promise<void> {
  const actions = findSetUpActions(provider).map((action) =>
    command(action.title, action.command, ...(action.arguments ?? [])),
  );
  const rows = [
    ...actions,
    ...(hasSignIn(provider) ? [command(vscode.l10n.t('Sign Out'), 'jumpseat.signOut', provider.id)] : []),
    { label: vscode.l10n.t('Settings…'), run: () => changeSettings(daemon, provider) },
    command(vscode.l10n.t('Diagnose Models'), 'jumpseat.diagnoseModels', provider.id),
  ];
  await choose(provider.name, describeAccount(provider), rows);
}

/** Let the user choose a template, fill in its fields, and enter a key. */
export async function addProvider(daemon: Daemon): Promise<void> {
  const [{ templates }, { providers }] = await Promise.all([
    daemon.request('providers/templates', {}),
    daemon.request('providers/list', {}),
  ]);
  const rows = templates.map((template) => ({ label: template.title, description: template.kind, template }));
  const options = {
    title: vscode.l10n.t('Add Provider'),
    placeHolder: vscode.l10n.t('Service, or the API of the server'),
  };
  const template = (await vscode.window.showQuickPick(rows, options))?.template;
  const filled = template && (await fillIn(template, new Set(providers.map(({ id }) => id))));
  const key = filled && (await askForKey(filled.id, !template.needsKey));
  if (!filled || key === undefined) {
    return;
  }
  const { provider } = await daemon.request('providers/add', { ...filled, kind: template.kind });
  if (key === '') {
    showInformation(vscode.l10n.t('{0} was added to the configuration.', provider.name));
  } else {
    await storeKey(daemon, provider.id, key);
  }
}

interface Filled {
  id: string;
  values: Record<string, string>;
}

/** Ask for the id and the fields of a new provider. Returns undefined if the user cancels. */
async function fillIn(template: Template, taken: ReadonlySet<string>): Promise<Filled | undefined> {
  const steps = template.fields.length + 1;
  const ask = (step: number, options: vscode.InputBoxOptions): Thenable<string | undefined> =>
    vscode.window.showInputBox({
      ...options,
      title: vscode.l10n.t('{0} ({1} of {2})', template.title, step, steps),
      ignoreFocusOut: true,
    });
  const id = await ask(1, {
    prompt: vscode.l10n.t('Provider name, used as the prefix of its model ids'),
    value: taken.has(template.id) ? '' : template.id,
    validateInput: (text) =>
      taken.has(text.trim()) ? vscode.l10n.t('A provider with this name already exists.') : undefined,
  });
  if (id === undefined) {
    return undefined;
  }
  const values: Record<string, string> = {};
  for (const [index, field] of template.fields.entries()) {
    const value = await ask(index + 2, {
      prompt: field.optional ? vscode.l10n.t('{0} May be empty.', field.description) : field.description,
      value: typeof field.default === 'string' ? field.default : '',
      validateInput: (text) => findMistake(field, text),
    });
    if (value === undefined) {
      return undefined;
    }
    if (value.trim() !== '') {
      values[field.key] = value.trim();
    }
  }
  return { id: id.trim(), values };
}

/** Let the user change the saved settings of a provider, one after the other, until the user cancels. */
async function changeSettings(daemon: Daemon, { id, name, settingsSchema }: Provider): Promise<void> {
  for (;;) {
    const { settings } = await daemon.request('settings/get', {});
    const saved = settings.providers?.[id] ?? {};
    const rows = settingsSchema.map((row) => ({
      label: row.key,
      description:
        row.key in saved ? vscode.l10n.t('{0} · saved', JSON.stringify(saved[row.key])) : formatRule(row),
      detail: row.description,
      row,
    }));
    const options = {
      title: vscode.l10n.t('Settings of {0}', name),
      placeHolder: vscode.l10n.t('Choose a setting for all chats'),
      matchOnDetail: true,
    };
    const row = (await vscode.window.showQuickPick(rows, options))?.row;
    const value = row && (await askForValue(row, saved[row.key]));
    if (!row || value === undefined) {
      return;
    }
    const { warnings } = await daemon.request('settings/save', {
      settings: { providers: { [id]: { [row.key]: value } } },
    });
    if (warnings) {
      showWarning(warnings.map(({ message }) => message).join(' '));
    }
  }
}

/** Ask for the value of a setting. Returns null to remove the setting, or undefined if the user cancels. */
async function askForValue(row: SettingsRow, current: unknown): Promise<unknown> {
  const title = row.key;
  const choices = row.choices ?? (row.type === 'boolean' ? [true, false] : undefined);
  if (choices) {
    const rows = choices.map((value) => ({ label: String(value), value }));
    const unset = {
      label: vscode.l10n.t('Not set'),
      description: vscode.l10n.t('as configured'),
      value: null,
    };
    return (await vscode.window.showQuickPick([...rows, unset], { title, placeHolder: row.description }))
      ?.value;
  }
  const text = await vscode.window.showInputBox({
    title,
    prompt: vscode.l10n.t('{0} {1}. Empty means as configured.', row.description, formatRule(row)),
    value: current === undefined ? '' : typeof current === 'string' ? current : JSON.stringify(current),
    validateInput: (entered) => findMistake({ ...row, optional: true }, entered),
  });
  return text === undefined ? undefined : text.trim() === '' ? null : parseValue(row, text.trim());
}
