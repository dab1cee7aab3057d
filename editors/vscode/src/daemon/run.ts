import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface RunOptions {
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
}

interface RunResult {
  code: number | null;
  /** The lines of stdout and stderr, in order of arrival. */
  lines: string[];
}

/** Run a program until it ends. Kills it at the time limit; `code` is then null. Rejects if it cannot be started. */
export async function run(program: string, args: string[], options: RunOptions): Promise<RunResult> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    env: options.env,
    timeout: options.timeoutMs,
    killSignal: 'SIGKILL',
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
    });
  }
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    // `close` would also wait for children of the program that keep the pipes of its output open.
    child.once('exit', (code) => {
      // Resolve later: the last lines may not have been read yet.
      setImmediate(() => {
        resolve({ code, lines });
      });
    });
  });
}
