import { open, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 500;
const WAIT_MS = 1_200_000;

/** Run `use` while no other process of this user does so with the same file. The file of a process that has ended does not count. */
export async function locked<R>(
  path: string,
  signal: AbortSignal | undefined,
  use: () => Promise<R>,
): Promise<R> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await taken(path))) {
    if (await abandoned(path)) {
      await rm(path, { force: true });
      continue;
    }
    if (Date.now() > deadline) {
      throw new Error(`Another window has been installing jumpseat for too long (${path}).`);
    }
    await sleep(POLL_MS, undefined, signal && { signal });
  }
  try {
    return await use();
  } finally {
    await rm(path, { force: true });
  }
}

async function taken(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      return false;
    }
    throw error;
  }
}

async function abandoned(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, 'utf8').catch(() => ''));
  if (!pid) {
    // Being written, or just removed.
    return false;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
