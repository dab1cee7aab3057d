import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Log } from '../src/base/log';

/** A log that keeps its lines. */
export class Lines implements Log {
  readonly lines: string[] = [];
  trace = (line: string): void => void this.lines.push(`trace ${line}`);
  debug = (line: string): void => void this.lines.push(`debug ${line}`);
  info = (line: string): void => void this.lines.push(`info ${line}`);
  warn = (line: string): void => void this.lines.push(`warn ${line}`);
  error = (line: string): void => void this.lines.push(`error ${line}`);
}

/** A new directory, removed at the end of the process. */
export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'jumpseat-'));
  process.once('exit', () => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

/** Wait until something holds; fails after ten seconds. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > deadline) {
      throw new Error(`Not within ten seconds: ${what}`);
    }
    await sleep(10);
  }
}
