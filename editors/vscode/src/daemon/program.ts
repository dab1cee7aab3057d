import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { l10n } from 'vscode';

import type { Settings } from '../base/settings';
import { createSetUpError } from './errors';
import type { Launch } from './process';

/** The user's environment, and further places in which to look for the program. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  home: string;
  platform: NodeJS.Platform;
  /** Return the environment of the user's login shell, or undefined. Called at most once. */
  shell(): Promise<NodeJS.ProcessEnv | undefined>;
  /** Return the program of the extension's own installation, if there is one. */
  installed(): Promise<string | undefined>;
}

/** The program that was found, and the environment variables to start it with. */
export interface Found {
  program: string;
  env: NodeJS.ProcessEnv;
}

/** Extra directories for a VS Code that was started without the shell's PATH. */
const USUAL = ['/opt/homebrew/bin', '/usr/local/bin'];

/** Return the directories that are searched for programs: the PATH and the usual targets of installers. */
export function listSearchDirectories(
  env: NodeJS.ProcessEnv,
  home: string,
  platform: NodeJS.Platform,
): string[] {
  const usual = [join(home, '.local', 'bin'), join(home, '.cargo', 'bin'), ...USUAL];
  return [...directoriesOf(env), ...(platform === 'win32' ? usual.slice(0, 2) : usual)];
}

/**
 * Find the daemon's program: the user's setting, else the PATH, the usual directories, the extension's own installation
 * and the PATH of the login shell, in this order. Returns undefined if the program is in none of them. Throws if the
 * setting does not name a program.
 */
export async function findProgram(setting: string, around: Surroundings): Promise<Found | undefined> {
  const { env } = around;
  if (setting) {
    const program = await findNamed(setting, around);
    if (program) {
      return { program, env };
    }
    throw createSetUpError(
      l10n.t('The program "{0}" of the setting jumpseat.path was not found.', setting),
      l10n.t('Correct the setting, or empty it so that the extension finds or installs one.'),
    );
  }
  const places = listSearchDirectories(env, around.home, around.platform);
  const program =
    (await findInDirectories('jumpseat', places, around.platform)) ?? (await around.installed());
  if (program) {
    return { program, env };
  }
  const shell = await around.shell();
  const found = shell && (await findInDirectories('jumpseat', directoriesOf(shell), around.platform));
  // Pass on all variables of the shell, because the configuration may refer to them for keys and proxies.
  return found ? { program: found, env: { ...shell, ...env, PATH: shell.PATH } } : undefined;
}

async function findNamed(setting: string, around: Surroundings): Promise<string | undefined> {
  const path = setting.replace(/^~(?=[/\\])/, around.home);
  if (isAbsolute(path)) {
    return (await isProgram(path)) ? path : undefined;
  }
  // A relative path would depend on a directory that a workspace may choose.
  return /[/\\]/.test(path)
    ? undefined
    : await findInDirectories(path, directoriesOf(around.env), around.platform);
}

/** Return the path of the program with this name in the first directory that has one. */
export async function findInDirectories(
  name: string,
  directories: readonly string[],
  platform: NodeJS.Platform,
): Promise<string | undefined> {
  const file = platform === 'win32' && !name.endsWith('.exe') ? `${name}.exe` : name;
  for (const directory of directories) {
    const path = join(directory, file);
    if (await isProgram(path)) {
      return path;
    }
  }
  return undefined;
}

/** Return the absolute directories of the PATH. Relative ones would depend on the current directory. */
function directoriesOf(env: NodeJS.ProcessEnv): string[] {
  const key = Object.keys(env).find((each) => each.toUpperCase() === 'PATH') ?? 'PATH';
  return (env[key] ?? '').split(delimiter).filter(isAbsolute);
}

/** Remove the variables that VS Code sets for its own programs. */
function removeOwnVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== 'ELECTRON_RUN_AS_NODE' && !name.startsWith('VSCODE_')),
  );
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Return the flag for the user's configuration file, or nothing for the default location. */
export function buildConfigFlag({ config }: Settings, home: string): string[] {
  return config ? ['--config', config.replace(/^~(?=[/\\])/, home)] : [];
}

/** Return the daemon's command line with the flags from the user's settings. */
export function buildCommandLine(
  found: Found,
  settings: Settings,
  home: string,
  clientProcessId: number,
): Launch {
  const args = [
    ...['attach', '--log-level', settings.logLevel, '--clientProcessId', String(clientProcessId)],
    ...buildConfigFlag(settings, home),
  ];
  return { program: found.program, args, env: removeOwnVariables(found.env), cwd: home };
}
