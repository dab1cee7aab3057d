import * as vscode from 'vscode';

import { asDaemonError } from '../../daemon/errors';
import type { ConversationRow } from '../../daemon/protocol';
import type { Daemon } from '../../daemon/supervisor';
import { registerCommand, createContextSetter, showWarning } from '../common/messages';
import { formatAge, formatTurns } from '../common/words';
import type { ConversationActions } from './actions';
import { groupConversations, haveSamePlaces, type Group } from './groups';
import { Pages } from './pages';

const VIEW = 'jumpseat.conversations';
/** How long to wait for further changes before the list is read again: changes often arrive in groups. */
const SETTLE_MS = 200;

interface RowNode {
  kind: 'row';
  row: ConversationRow;
}
type Node = { kind: 'group'; label: string } | RowNode | { kind: 'more' };

function createGroupItem(label: string, isExpanded: boolean): vscode.TreeItem {
  const state = isExpanded
    ? vscode.TreeItemCollapsibleState.Expanded
    : vscode.TreeItemCollapsibleState.Collapsed;
  const item = new vscode.TreeItem(label, state);
  // eslint-disable-next-line no-restricted-syntax -- This is an identifier.
  item.id = `group ${label}`;
  item.contextValue = 'group';
  return item;
}

function createRowItem(row: ConversationRow): vscode.TreeItem {
  const item = new vscode.TreeItem(row.title);
  item.id = row.id;
  item.description = formatAge(row.updatedAt, new Date());
  item.iconPath = new vscode.ThemeIcon(row.forkOf === undefined ? 'comment-discussion' : 'repo-forked');
  item.contextValue = 'conversation';
  item.command = {
    command: 'jumpseat.openConversation',
    title: vscode.l10n.t('Open'),
    arguments: [{ kind: 'row', row }],
  };
  const changed = new Date(row.updatedAt).toLocaleString(vscode.env.language);
  const facts = [row.title, formatTurns(row), row.model, row.cwd, row.client, changed];
  item.accessibilityInformation = { label: [row.title, item.description, formatTurns(row)].join(', ') };
  item.tooltip = facts.filter((fact) => fact !== undefined).join('\n');
  return item;
}

/** Return the heading of the workspace's own conversations. */
function formatWorkspaceHeading(): string {
  return vscode.l10n.t('This Workspace: {0}', vscode.workspace.name ?? '');
}

function createMoreItem(): vscode.TreeItem {
  const item = new vscode.TreeItem(vscode.l10n.t('More…'));
  item.command = { command: 'jumpseat.moreConversations', title: vscode.l10n.t('More') };
  return item;
}

/** The view of kept conversations: first those of this workspace, then all others by date. */
export class Conversations implements vscode.TreeDataProvider<Node> {
  readonly #daemon: Daemon;
  readonly #changed = new vscode.EventEmitter<Node[] | undefined>();
  readonly #view: vscode.TreeView<Node>;
  readonly #setSearching = createContextSetter('jumpseat.isSearching');
  #query = '';
  #here: Pages | undefined;
  #all: Pages;
  #isRead = false;
  #groups: Group[] = [];
  /** The nodes by conversation id. VS Code identifies rows by these objects. */
  #rows = new Map<string, RowNode>();
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#all = this.#createPages();
    this.#view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
    this.#reset('');
  }

  register(actions: ConversationActions): vscode.Disposable {
    const onRow = (id: string, run: (row: ConversationRow) => Promise<void>): vscode.Disposable =>
      registerCommand(id, (node?: Node) => {
        const chosen = node ?? this.#view.selection[0];
        if (chosen?.kind === 'row') {
          return run(chosen.row);
        }
        showWarning(vscode.l10n.t('Select a conversation in the view first.'));
        return undefined;
      });
    return vscode.Disposable.from(
      this.#view,
      this.#changed,
      new vscode.Disposable(() => {
        clearTimeout(this.#timer);
      }),
      this.#daemon.onNotification('conversations/didChange', () => {
        this.#rereadSoon();
      }),
      this.#daemon.onDidChangeState((state) => {
        if (state === 'ready') {
          this.#rereadSoon();
        }
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.#reset(this.#query);
      }),
      onRow('jumpseat.openConversation', (row) => actions.open(row)),
      onRow('jumpseat.continueConversation', (row) => actions.continue(row)),
      onRow('jumpseat.forkConversation', (row) => actions.fork(row)),
      onRow('jumpseat.renameConversation', (row) => actions.rename(row)),
      onRow('jumpseat.deleteConversation', (row) => actions.delete(row)),
      registerCommand('jumpseat.moreConversations', () => this.#readMore()),
      registerCommand('jumpseat.refreshConversations', () => {
        this.#reset(this.#query);
      }),
      registerCommand('jumpseat.searchConversations', () => this.#search()),
      registerCommand('jumpseat.clearSearch', () => {
        this.#reset('');
      }),
    );
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node) {
      const group = node.kind === 'group' && this.#groups.find(({ label }) => label === node.label);
      return group ? group.rows.map((row) => this.#updateNode(row)) : [];
    }
    try {
      if (!this.#isRead) {
        await Promise.all([this.#here?.reread(), this.#all.reread()]);
        this.#isRead = true;
      }
    } catch (error) {
      this.#view.message = asDaemonError(error).sentence;
      return [];
    }
    this.#groups = this.#group();
    this.#rows.clear();
    this.#view.message = this.#formatMessage(this.#groups.length);
    const nodes: Node[] = this.#groups.map(({ label }) => ({ kind: 'group', label }));
    return this.#hasMore ? [...nodes, { kind: 'more' }] : nodes;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case 'group':
        return createGroupItem(
          node.label,
          this.#query !== '' ||
            node.label === formatWorkspaceHeading() ||
            node.label === vscode.l10n.t('Today'),
        );
      case 'row':
        return createRowItem(node.row);
      case 'more':
        return createMoreItem();
    }
  }

  get #hasMore(): boolean {
    return this.#all.hasMore || this.#here?.hasMore === true;
  }

  #group(): Group[] {
    return groupConversations(this.#here?.rows ?? [], this.#all.rows, formatWorkspaceHeading(), new Date());
  }

  #updateNode(row: ConversationRow): RowNode {
    const node = this.#rows.get(row.id) ?? { kind: 'row', row };
    node.row = row;
    this.#rows.set(row.id, node);
    return node;
  }

  #formatMessage(count: number): string {
    if (this.#query === '') {
      return '';
    }
    return count === 0
      ? vscode.l10n.t('No conversation contains "{0}".', this.#query)
      : vscode.l10n.t('Conversations that contain "{0}"', this.#query);
  }

  #createPages(cwd?: string): Pages {
    const filter = { ...(cwd !== undefined && { cwd }), ...(this.#query !== '' && { query: this.#query }) };
    return new Pages((params) => this.#daemon.request('conversations/list', params), filter);
  }

  #reset(query: string): void {
    this.#query = query;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    this.#here = folder?.scheme === 'file' ? this.#createPages(folder.fsPath) : undefined;
    this.#all = this.#createPages();
    this.#isRead = false;
    this.#setSearching(query !== '');
    this.#changed.fire(undefined);
  }

  /** Read the list again soon, if it was read before. A view that was never shown must not start the daemon. */
  #rereadSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#reread().catch(() => undefined);
    }, SETTLE_MS);
  }

  /** Read the rows again before VS Code asks for them. */
  async #reread(): Promise<void> {
    const hadMore = this.#hasMore;
    let isInPlace = false;
    try {
      if (this.#isRead) {
        await Promise.all([this.#here?.reread(), this.#all.reread()]);
        const groups = this.#group();
        isInPlace = haveSamePlaces(this.#groups, groups) && hadMore === this.#hasMore;
        this.#groups = groups;
        groups.forEach(({ rows }) => {
          rows.forEach((row) => this.#updateNode(row));
        });
      }
    } finally {
      // Redraw only the rows if none has moved: a full redraw would disable their context menus until it is done.
      this.#changed.fire(isInPlace ? [...this.#rows.values()] : undefined);
    }
  }

  async #readMore(): Promise<void> {
    await Promise.all([
      this.#here?.hasMore ? this.#here.readMore() : undefined,
      this.#all.hasMore ? this.#all.readMore() : undefined,
    ]);
    this.#changed.fire(undefined);
  }

  async #search(): Promise<void> {
    const query = await vscode.window.showInputBox({
      title: vscode.l10n.t('Search kept conversations'),
      prompt: vscode.l10n.t('Words from a title, a question or an answer'),
      value: this.#query,
    });
    if (query !== undefined) {
      this.#reset(query.trim());
    }
  }
}
