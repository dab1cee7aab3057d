import * as vscode from 'vscode';

/** The part of the Python extension's API that is used here. */
interface PythonApi {
  environments?: {
    known?: readonly { executable?: { uri?: vscode.Uri } }[];
    getActiveEnvironmentPath?(): { path: string };
    resolveEnvironment?(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

/**
 * The interpreters that VS Code's Python extension knows, the active one first; none without that extension. None in a
 * workspace that is not trusted either, because a workspace may bring an interpreter of its own.
 */
export async function pythonInterpreters(): Promise<string[]> {
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
