import * as vscode from 'vscode';

import { formatNumber } from '../../base/formats';
import type { ToolParams, ToolRow, ToolServerRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { wordsFor } from '../common/words';

/** The prefix of the names under which the file tools are registered in VS Code. */
export const TOOL_PREFIX = 'jumpseat_';
/** The name of the daemon's tool server for files. */
export const FILES = 'files';

const SETTING = 'jumpseat.tools';

const STATES = {
  stopped: vscode.l10n.t('stopped'),
  starting: vscode.l10n.t('starting'),
  running: vscode.l10n.t('running'),
  failed: vscode.l10n.t('failed'),
  untrusted: vscode.l10n.t('untrusted'),
  needs_sign_in: vscode.l10n.t('needs a sign-in'),
} satisfies Record<ToolServerRow['state'], string>;

/** Return the folders of the workspace that the daemon can read, as URIs. */
export function listFolders(): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.filter(({ uri }) => uri.scheme === 'file').map(({ uri }) => uri.toString());
}

/** Return the URI for a path in a tool's arguments. Relative paths start at the first folder of the workspace. */
export function resolvePath(path: string): vscode.Uri | undefined {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (/^([\\/]|[A-Za-z]:[\\/])/.test(path)) {
    return vscode.Uri.file(path);
  }
  return folder && vscode.Uri.joinPath(folder, path);
}

/**
 * Return the tools for a question: those of the setting, and the file tools that the question refers to with `#`. In an
 * untrusted workspace, return no tools, because a text in it may ask the model to misuse them.
 */
export function selectTools(references: readonly vscode.ChatLanguageModelToolReference[]): ToolParams {
  if (!vscode.workspace.isTrusted) {
    return {};
  }
  const folders = listFolders();
  const named = references
    .filter(({ name }) => name.startsWith(TOOL_PREFIX))
    .map(({ name }) => `${FILES}/${name.slice(TOOL_PREFIX.length)}`);
  const selectors = [...new Set([...readSelectors(), ...named])];
  const usable = selectors.filter((each) => folders.length > 0 || !each.startsWith(`${FILES}/`));
  return usable.length > 0 ? { daemonTools: usable, workspaceFolders: folders } : {};
}

function readSelectors(): string[] {
  return vscode.workspace.getConfiguration().get<string[]>(SETTING, []);
}

interface Row extends vscode.QuickPickItem {
  selector?: string;
}

/** Let the user choose the servers whose tools `@jumpseat` may use. */
export async function chooseTools(daemon: Daemon): Promise<void> {
  const selected = readSelectors();
  const rows = daemon
    .request('tools/list', {})
    .then(({ tools, servers }) => toRows(tools, servers, selected));
  const chosen = await vscode.window.showQuickPick(rows, {
    title: vscode.l10n.t('Tool servers of @jumpseat'),
    placeHolder: vscode.l10n.t(
      'The model may use the tools of the selected servers; the rules of the configuration file decide which calls need approval',
    ),
    canPickMany: true,
    matchOnDetail: true,
  });
  if (!chosen) {
    return;
  }
  const servers = new Set((await rows).map(({ selector }) => selector));
  // The setting may have selectors of single tools, which this list does not show.
  const others = selected.filter((each) => !servers.has(each));
  const selectors = [...chosen.flatMap(({ selector }) => selector ?? []), ...others];
  await vscode.workspace.getConfiguration().update(SETTING, selectors, vscode.ConfigurationTarget.Global);
}

/** Return a row for each server, with the cost of its tools, or else with its state. */
export function toRows(
  tools: readonly ToolRow[],
  servers: readonly ToolServerRow[],
  selected: readonly string[],
): Row[] {
  return servers.map(({ name, state, error }) => {
    const own = tools.filter(({ server, decision }) => server === name && decision !== 'deny');
    const tokens = own.reduce((sum, each) => sum + each.tokens, 0);
    const cost = own.length > 0 ? describeCost(own.length, formatNumber(tokens)) : wordsFor(state, STATES);
    const asking = own.filter(({ decision }) => decision === 'ask').map(({ tool }) => tool);
    const detail =
      error ??
      own
        .map(({ tool }) => (asking.includes(tool) ? vscode.l10n.t('{0} (needs approval)', tool) : tool))
        .join(', ');
    return {
      label: name,
      description: cost,
      detail,
      selector: `${name}/*`,
      picked: selected.includes(`${name}/*`),
    };
  });
}

function describeCost(tools: number, tokens: string): string {
  return tools === 1
    ? vscode.l10n.t('1 tool · about {0} tokens in each request', tokens)
    : vscode.l10n.t('{0} tools · about {1} tokens in each request', tools, tokens);
}
