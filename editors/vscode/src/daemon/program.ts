import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

import type { Settings } from '../base/settings';
import { wrongSetUp } from './errors';
import type { Launch } from './process';

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  home: string;
  platform: NodeJS.Platform;
  /** The environment of the user's login shell, or nothing; asked at most once. */
  shell(): Promise<NodeJS.ProcessEnv | undefined>;
  /** The program of the extension's own installation, if there is one. */
  installed(): Promise<string | undefined>;
}

export interface Found {
  program: string;
  env: NodeJS.ProcessEnv;
}

/** For a VS Code that was started without the shell's PATH. */
const USUAL = ['/opt/homebrew/bin', '/usr/local/bin'];

/** Where programs are searched: the PATH, and where installers put them. */
export function searched(env: NodeJS.ProcessEnv, home: string, platform: NodeJS.Platform): string[] {
  const usual = [join(home, '.local', 'bin'), join(home, '.cargo', 'bin'), ...USUAL];
  return [...directoriesOf(env), ...(platform === 'win32' ? usual.slice(0, 2) : usual)];
}

/**
 * The program of the daemon: the user's setting, else the PATH, the usual places, the extension's own installation, and
 * the PATH of the login shell. Nothing if it is in none of them. Throws if the setting names no program.
 */
export async function findProgram(setting: string, around: Surroundings): Promise<Found | undefined> {
  const { env } = around;
  if (setting) {
    const program = await named(setting, around);
    if (program) {
      return { program, env };
    }
    throw wrongSetUp(
      `The program "${setting}" of the setting jumpseat.path was not found.`,
      'Correct the setting, or empty it so that the extension finds or installs one.',
    );
  }
  const places = searched(env, around.home, around.platform);
  const program = (await inDirectories('jumpseat', places, around.platform)) ?? (await around.installed());
  if (program) {
    return { program, env };
  }
  const shell = await around.shell();
  const found = shell && (await inDirectories('jumpseat', directoriesOf(shell), around.platform));
  // The shell has more than the PATH: keys and proxies that the user's configuration names.
  return found ? { program: found, env: { ...shell, ...env, PATH: shell.PATH } } : undefined;
}

async function named(setting: string, around: Surroundings): Promise<string | undefined> {
  const path = setting.replace(/^~(?=[/\\])/, around.home);
  if (isAbsolute(path)) {
    return (await isProgram(path)) ? path : undefined;
  }
  // A relative path would begin at a directory that a workspace may choose.
  return /[/\\]/.test(path)
    ? undefined
    : await inDirectories(path, directoriesOf(around.env), around.platform);
}

/** The first program of this name. */
export async function inDirectories(
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

/** The absolute directories of the PATH: a relative one begins wherever the process does. */
export function directoriesOf(env: NodeJS.ProcessEnv): string[] {
  const key = Object.keys(env).find((each) => each.toUpperCase() === 'PATH') ?? 'PATH';
  return (env[key] ?? '').split(delimiter).filter(isAbsolute);
}

/** Without the variables by which VS Code's own programs know each other. */
function forPrograms(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
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

/** The flag that names the user's configuration file; none for the one in its usual place. */
export function configFlag({ config }: Settings, home: string): string[] {
  return config ? ['--config', config.replace(/^~(?=[/\\])/, home)] : [];
}

/** The command line of the daemon, with the flags of the user's settings. */
export function commandLine(found: Found, settings: Settings, home: string, clientProcessId: number): Launch {
  const args = [
    ...['attach', '--log-level', settings.logLevel, '--clientProcessId', String(clientProcessId)],
    ...configFlag(settings, home),
  ];
  return { program: found.program, args, env: forPrograms(found.env), cwd: home };
}
