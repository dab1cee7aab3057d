import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { logDaemonLine, type Log } from '../base/log';
import { wrongSetUp } from './errors';

/** How a program is started. */
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

/** How long output may still come after the process has ended: its daemon writes it, and closes the pipe. */
const DRAIN_MS = 500;

/** A running `jumpseat attach`. */
export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended and its output is read. */
  readonly exit: Promise<Exit>;
}

/** Start a program whose stderr is the log. Rejects if it cannot be started. */
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
  // A write to a process that has just ended; its exit says so.
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
    throw wrongSetUp(
      `The program ${launch.program} could not be started: ${(error as Error).message}`,
      'Correct the setting jumpseat.path, or empty it so that the extension finds or installs one.',
    );
  }
  return { process, exit };
}
