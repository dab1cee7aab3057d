import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { l10n } from 'vscode';

import { logDaemonLine, type Log } from '../base/log';
import { createSetUpError } from './errors';

/** The command line and environment that start a program. */
export interface Launch {
  program: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The time limit for output after the end of a process: a daemon that the process started may keep the pipe open. */
const DRAIN_MS = 500;

/** A running `jumpseat attach`. */
export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended and its output has been read, or `DRAIN_MS` have passed since the end. */
  readonly exit: Promise<Exit>;
}

/** Start a program and write its stderr to the log. Rejects if the program cannot be started. */
export async function start(launch: Launch, log: Log): Promise<Child> {
  const process = spawn(launch.program, launch.args, {
    env: launch.env,
    cwd: launch.cwd,
    stdio: 'pipe',
    windowsHide: true,
  });
  createInterface({ input: process.stderr }).on('line', (line) => {
    logDaemonLine(log, line);
  });
  // Ignore failed writes to a process that has just ended: its exit is reported anyway.
  process.stdin.on('error', () => undefined);
  const exit = new Promise<Exit>((resolve) => {
    process.once('exit', (code, signal) => {
      const done = () => {
        clearTimeout(timer);
        resolve({ code, signal });
      };
      const timer = setTimeout(done, DRAIN_MS);
      process.once('close', done);
    });
  });
  try {
    await once(process, 'spawn');
  } catch (error) {
    throw createSetUpError(
      l10n.t('The program {0} could not be started: {1}', launch.program, (error as Error).message),
      l10n.t('Correct the setting jumpseat.path, or empty it so that the extension finds or installs one.'),
    );
  }
  return { process, exit };
}
