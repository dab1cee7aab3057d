import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  timeoutMs: number;
  onLine?: (line: string) => void;
}

export interface Ran {
  code: number | null;
  /** Lines of both streams, as they came. */
  lines: string[];
}

/** Run a program to its end. Rejects if it cannot be started, does not end in time, or is aborted. */
export async function run(program: string, args: string[], options: RunOptions): Promise<Ran> {
  const limit = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  signal.throwIfAborted();
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
    signal,
    killSignal: 'SIGKILL',
    ...(options.env && { env: options.env }),
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      options.onLine?.(line);
    });
  }
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    // Not `close`: a child of the program may hold its output open.
    child.once('exit', (code) => {
      setImmediate(() => {
        resolve({ code, lines });
      });
    });
  });
}
