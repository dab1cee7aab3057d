import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Log } from '../src/log';

/** A log that keeps its lines. */
export class Lines implements Log {
  readonly lines: string[] = [];
  trace = (line: string): void => void this.lines.push(`trace ${line}`);
  debug = (line: string): void => void this.lines.push(`debug ${line}`);
  info = (line: string): void => void this.lines.push(`info ${line}`);
  warn = (line: string): void => void this.lines.push(`warn ${line}`);
  error = (line: string): void => void this.lines.push(`error ${line}`);
}

/** A state directory of its own, removed at the end of the process. */
export function home(): NodeJS.ProcessEnv {
  const directory = mkdtempSync(join(tmpdir(), 'jumpseat-'));
  process.once('exit', () => {
    rmSync(directory, { recursive: true, force: true });
  });
  return { ...process.env, JUMPSEAT_HOME: directory };
}
