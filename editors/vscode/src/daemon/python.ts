import { join } from 'node:path';

import { inDirectories } from './program';
import { run } from './run';

/** What makes the environment of the daemon: a Python of the machine, or uv, which brings one. */
export type Maker = { kind: 'python'; program: string } | { kind: 'uv'; program: string };

const CHECK_MS = 20_000;
const NEEDED = '3.11';
/** Fails where Python is too old, or lacks what makes an environment (a package of its own in Debian). */
const CHECK = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';
const NAMES = ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];

/**
 * The first Python that can make the environment, else uv, else nothing.
 *
 * @param offered the interpreters that VS Code's Python extension knows
 * @param directories where programs are searched
 */
export async function findMaker(
  offered: readonly string[],
  directories: readonly string[],
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
  signal?: AbortSignal,
): Promise<Maker | undefined> {
  // Apple's own is too old, and asks to install developer tools where they are missing.
  const searched = directories.filter((each) => platform !== 'darwin' || each !== '/usr/bin');
  const pythons = [...offered];
  for (const name of NAMES) {
    const found = await inDirectories(name, searched, platform);
    if (found && !pythons.includes(found)) {
      pythons.push(found);
    }
  }
  for (const program of pythons) {
    if (await works(program, env, signal)) {
      return { kind: 'python', program };
    }
  }
  const uv = await inDirectories('uv', directories, platform);
  return uv ? { kind: 'uv', program: uv } : undefined;
}

async function works(program: string, env: NodeJS.ProcessEnv, signal?: AbortSignal): Promise<boolean> {
  try {
    const { code } = await run(program, ['-c', CHECK], {
      env,
      timeoutMs: CHECK_MS,
      ...(signal && { signal }),
    });
    return code === 0;
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}

export interface Step {
  title: string;
  program: string;
  args: string[];
}

export function scriptsOf(directory: string, platform: NodeJS.Platform): string {
  return join(directory, platform === 'win32' ? 'Scripts' : 'bin');
}

/** The commands that make the environment and install `requirement` into it. */
export function stepsOf(
  maker: Maker,
  directory: string,
  requirement: string,
  platform: NodeJS.Platform,
): [Step, Step] {
  const python = join(scriptsOf(directory, platform), platform === 'win32' ? 'python.exe' : 'python');
  const make = 'Making an environment for Python';
  const install = 'Installing packages';
  if (maker.kind === 'uv') {
    return [
      {
        title: make,
        program: maker.program,
        args: ['venv', '--clear', '--python', `>=${NEEDED}`, directory],
      },
      { title: install, program: maker.program, args: ['pip', 'install', '--python', python, requirement] },
    ];
  }
  return [
    { title: make, program: maker.program, args: ['-m', 'venv', '--clear', directory] },
    {
      title: install,
      program: python,
      args: [
        ...['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--progress-bar', 'off'],
        requirement,
      ],
    },
  ];
}
