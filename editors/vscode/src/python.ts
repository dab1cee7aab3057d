import * as vscode from 'vscode';

/** The part of the Python extension's API that this extension uses. */
interface PythonApi {
  environments?: {
    known?: readonly { executable?: { uri?: vscode.Uri } }[];
    getActiveEnvironmentPath?(): { path: string };
    resolveEnvironment?(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/**
 * Return the interpreters found by VS Code's Python extension, the active one first. Returns an empty list without that
 * extension. Also returns an empty list in an untrusted workspace, because an interpreter in it must not be run.
 */
export async function findPythonInterpreters(): Promise<string[]> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (!extension || !vscode.workspace.isTrusted) {
    return [];
  }
  try {
    const { environments } = await extension.activate();
    const active = environments?.getActiveEnvironmentPath?.();
    const resolved = active && (await environments?.resolveEnvironment?.(active));
    const uris = [resolved, ...(environments?.known ?? [])].map((each) => each?.executable?.uri);
    return [...new Set(uris.flatMap((uri) => (uri ? [uri.fsPath] : [])))];
  } catch {
    return [];
  }
}
