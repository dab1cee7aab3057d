import * as vscode from 'vscode';

/** The part of the API of VS Code's Git extension that this extension uses. */
export interface Repository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  /** Return the staged changes if `cached` is true, or else the unstaged changes, as a unified diff. */
  diff(cached: boolean): Promise<string>;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { readonly repositories: Repository[] };
}

/** Return the open repositories. Returns none if Git is turned off or missing. */
export async function listRepositories(): Promise<Repository[]> {
  const git = await vscode.extensions.getExtension<GitExtension>('vscode.git')?.activate();
  return git?.enabled ? git.getAPI(1).repositories : [];
}

/** Return the repository with this root. */
export function findRepository(
  repositories: readonly Repository[],
  root: vscode.Uri | undefined,
): Repository | undefined {
  return repositories.find((each) => each.rootUri.toString() === root?.toString());
}

/** Return the innermost repository that contains a file. */
export function findRepositoryOf(
  repositories: readonly Repository[],
  file: vscode.Uri | undefined,
): Repository | undefined {
  return repositories
    .filter(({ rootUri }) => file?.toString().startsWith(`${rootUri.toString()}/`))
    .toSorted((a, b) => b.rootUri.path.length - a.rootUri.path.length)[0];
}

/** Return the staged changes, or all changes if none are staged, as a unified diff. */
export async function readChanges(repository: Pick<Repository, 'diff'>): Promise<string> {
  // For an unmerged file, the staged diff has only a line `* Unmerged path …`. Remove that line, so that the unstaged
  // diff, which has the file's text, is used if nothing else is staged.
  const staged = (await repository.diff(true)).replaceAll(/^\* Unmerged path .*\n?/gm, '');
  return staged || repository.diff(false);
}
