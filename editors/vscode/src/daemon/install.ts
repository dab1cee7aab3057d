import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Log } from '../log';
import { asDaemonError, wrongSetUp, type DaemonError } from './errors';
import { locked } from './lock';
import { findMaker, scriptsOf, stepsOf, type Step } from './python';
import { run } from './run';

const STEP_MS = 900_000;
/** The local model and the system's keyring; the first is not built for every machine. */
const EXTRAS = ['local,keyring', 'keyring'];
const HINT =
  'The command "jumpseat: Restart Server" tries again. Or install it with `pipx install jumpseat`, ' +
  'or name the program in the setting jumpseat.path.';

export interface InstallOptions {
  /** The directory of the extension that carries the daemon's wheel. */
  wheels: string;
  /** Where the environments are. */
  storage: string;
  env: NodeJS.ProcessEnv;
  /** Where Python and uv are searched. */
  directories: readonly string[];
  platform: NodeJS.Platform;
  /** The interpreters that VS Code's Python extension knows. */
  pythons(): Promise<string[]>;
  log: Log;
}

export type Report = (message: string) => void;

/** Report with each message how long the installation has taken, every second: pip prints nothing for minutes. */
export function withSeconds(report: Report, everyMs = 1000): { report: Report; stop: () => void } {
  const began = Date.now();
  let last = 'Starting';
  const show = (): void => {
    report(`${last} (${Math.round((Date.now() - began) / 1000)} s)`);
  };
  const timer = setInterval(show, everyMs);
  return {
    report: (message) => {
      last = message;
      show();
    },
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** What a line of pip or uv says of the progress. */
function progressIn(line: string): string | undefined {
  if (line.startsWith('Installing collected packages')) {
    return 'unpacking';
  }
  return /^(?:Collecting ([\w.-]+)|Downloading (\S+)|((?:Resolved|Prepared) \d+ packages))/
    .exec(line.trim())
    ?.slice(1)
    .find(Boolean);
}

/** What `current.json` says: renamed into its place when the environment is complete, so that no part of one is used. */
interface Current {
  /** Of the wheel, so that another version of the extension, or another build, has its own environment. */
  wheel: string;
  directory: string;
}

/**
 * The extension's own installation of the daemon: an environment for each wheel, in a directory of its own, because an
 * environment cannot be moved and may be in use by another window.
 */
export class Installer {
  readonly #options: InstallOptions;
  readonly #pointer: string;

  constructor(options: InstallOptions) {
    this.#options = options;
    this.#pointer = join(options.storage, 'current.json');
  }

  /** The program of this version of the extension, if it is installed; else nothing. */
  async installed(): Promise<string | undefined> {
    const [wheel, current] = [await this.#wheel(), await this.#current()];
    return wheel && current?.wheel === wheel.hash ? this.#program(current) : undefined;
  }

  /** The program of an older version: for when a newer one cannot be installed. */
  async older(): Promise<string | undefined> {
    const current = await this.#current();
    return current && this.#program(current);
  }

  /**
   * Install the wheel, and return the program. Waits while another window installs it. Throws `DaemonError`.
   */
  async install(report: Report, signal?: AbortSignal): Promise<string> {
    const wheel = await this.#wheel();
    if (!wheel) {
      throw wrongSetUp('The program jumpseat was not found.', HINT);
    }
    await mkdir(this.#options.storage, { recursive: true });
    try {
      report('Waiting for other windows');
      return await locked(join(this.#options.storage, 'lock'), signal, async () => {
        const done = await this.installed();
        return done ?? (await this.#make(wheel, report, signal));
      });
    } catch (error) {
      throw signal?.aborted
        ? wrongSetUp('The installation of jumpseat was cancelled.', HINT)
        : asDaemonError(error);
    }
  }

  async #make(wheel: { path: string; hash: string }, report: Report, signal?: AbortSignal): Promise<string> {
    const { directories, env, platform, storage } = this.#options;
    report('Looking for Python');
    const maker = await findMaker(await this.#options.pythons(), directories, env, platform, signal);
    if (!maker) {
      throw wrongSetUp(
        'jumpseat needs Python 3.11 or newer with venv, or uv, and found neither.',
        `Install one of them (in Debian and Ubuntu: python3-venv). ${HINT}`,
      );
    }
    const directory = `${wheel.hash}-${randomUUID().slice(0, 8)}`;
    const whole = join(storage, directory);
    try {
      await this.#run(maker, whole, wheel.path, report, signal);
      const current: Current = { wheel: wheel.hash, directory };
      const program = this.#program(current);
      report('Checking the installation');
      const checked = await run(program, ['--version'], {
        env,
        timeoutMs: STEP_MS,
        ...(signal && { signal }),
      });
      if (checked.code !== 0) {
        throw failed(checked.lines);
      }
      const before = await this.#current();
      await writeFile(`${this.#pointer}.new`, JSON.stringify(current));
      await rename(`${this.#pointer}.new`, this.#pointer);
      await this.#clean([directory, before?.directory]);
      return program;
    } catch (error) {
      await rm(whole, { recursive: true, force: true });
      throw error;
    }
  }

  async #run(
    maker: Parameters<typeof stepsOf>[0],
    directory: string,
    wheel: string,
    report: Report,
    signal?: AbortSignal,
  ): Promise<void> {
    let failure: DaemonError | undefined;
    for (const extras of EXTRAS) {
      const requirement = `jumpseat[${extras}] @ ${pathToFileURL(wheel).href}`;
      const steps = stepsOf(maker, directory, requirement, this.#options.platform);
      const problem = await this.#steps(steps, report, signal);
      if (!problem) {
        return;
      }
      failure ??= problem;
    }
    throw failure ?? failed([]);
  }

  async #steps(steps: Step[], report: Report, signal?: AbortSignal): Promise<DaemonError | undefined> {
    const { env, log } = this.#options;
    for (const { title, program, args } of steps) {
      report(title);
      log.info(`${program} ${args.join(' ')}`);
      const { code, lines } = await run(program, args, {
        env,
        timeoutMs: STEP_MS,
        onLine: (line) => {
          log.info(line);
          const progress = progressIn(line);
          if (progress !== undefined) {
            report(`${title}: ${progress}`);
          }
        },
        ...(signal && { signal }),
      });
      if (code !== 0) {
        return failed(lines);
      }
    }
    return undefined;
  }

  /** Remove environments of older versions. The last one stays, for windows that still use it. */
  async #clean(kept: (string | undefined)[]): Promise<void> {
    for (const entry of await readdir(this.#options.storage, { withFileTypes: true })) {
      if (entry.isDirectory() && !kept.includes(entry.name)) {
        await rm(join(this.#options.storage, entry.name), { recursive: true, force: true }).catch(
          (error: unknown) => {
            this.#options.log.warn(`An older installation could not be removed: ${String(error)}`);
          },
        );
      }
    }
  }

  async #wheel(): Promise<{ path: string; hash: string } | undefined> {
    const names = await readdir(this.#options.wheels).catch(() => []);
    const name = names.find((each) => each.endsWith('.whl'));
    if (!name) {
      return undefined;
    }
    const path = join(this.#options.wheels, name);
    const hash = createHash('sha256')
      .update(basename(path))
      .update(await readFile(path))
      .digest('hex')
      .slice(0, 16);
    return { path, hash };
  }

  async #current(): Promise<Current | undefined> {
    try {
      const { wheel, directory } = JSON.parse(await readFile(this.#pointer, 'utf8')) as Partial<Current>;
      return typeof wheel === 'string' && typeof directory === 'string' ? { wheel, directory } : undefined;
    } catch {
      return undefined;
    }
  }

  #program({ directory }: Current): string {
    const { platform, storage } = this.#options;
    const name = platform === 'win32' ? 'jumpseat.exe' : 'jumpseat';
    return join(scriptsOf(join(storage, directory), platform), name);
  }
}

function failed(lines: readonly string[]): DaemonError {
  const last = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'no reason was given.';
  return wrongSetUp(
    `The installation of jumpseat failed: ${last.replace(/^ERROR: /i, '')}`,
    `The command "jumpseat: Show Log" has its output. ${HINT}`,
  );
}
