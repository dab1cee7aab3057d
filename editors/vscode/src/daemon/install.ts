import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

import type { Log } from '../base/log';
import { wrongSetUp } from './errors';
import { inDirectories } from './program';

/** How the script ends. With any other exit code, it could not be run. */
const [INSTALLED, FAILED, CANCELLED] = [0, 20, 21];
/** The local model and the system's keyring; the first is not built for every machine. */
const EXTRAS = ['local,keyring', 'keyring'];
const NAMES = ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];
const HINT =
  'The command "jumpseat: Show Log" has its output, and "jumpseat: Restart Server" tries again. ' +
  'Or install it with `pipx install jumpseat`, or name the program in the setting jumpseat.path.';

interface InstallOptions {
  /** The script that all editors install by. */
  script: string;
  /** The directory of the daemon's wheel. */
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

/** What the script writes when an environment is complete. */
interface Current {
  key: string;
  program: string;
}

/** The extension's own installation of the daemon, which `bootstrap.py` makes. */
export class Installer {
  readonly #options: InstallOptions;

  constructor(options: InstallOptions) {
    this.#options = options;
  }

  /** The program of this version of the extension, if it is installed; else nothing. */
  async installed(): Promise<string | undefined> {
    const [wheel, current] = [await this.#wheel(), await this.#current()];
    return wheel && current?.key === wheel.key ? current.program : undefined;
  }

  /** The program of an older version: for when a newer one cannot be installed. */
  async older(): Promise<string | undefined> {
    return (await this.#current())?.program;
  }

  /** Install the wheel, and return the program. Throws `DaemonError`. */
  async install(report: (message: string) => void, signal?: AbortSignal): Promise<string> {
    const wheel = await this.#wheel();
    if (!wheel) {
      throw wrongSetUp('The program jumpseat was not found.', HINT);
    }
    const requirements = EXTRAS.map((extras) => `jumpseat[${extras}] @ ${pathToFileURL(wheel.path).href}`);
    const args = ['--directory', this.#options.storage, '--key', wheel.key, ...requirements];
    report('Looking for Python');
    for (const launcher of await this.#launchers()) {
      const { code, last } = await this.#run([...launcher, ...args], report, signal);
      const program = code === INSTALLED ? await this.installed() : undefined;
      if (program) {
        return program;
      }
      if (code === FAILED || code === CANCELLED) {
        throw wrongSetUp(last, HINT);
      }
    }
    throw wrongSetUp(
      'jumpseat needs Python 3.11 or newer with venv, or uv, and found neither.',
      `Install one of them (in Debian and Ubuntu: python3-venv). ${HINT}`,
    );
  }

  /** The commands that may run the script, the best one first. */
  async #launchers(): Promise<string[][]> {
    const { directories, platform, script } = this.#options;
    // Apple's own is too old, and asks to install developer tools if they are missing.
    const searched = directories.filter((each) => platform !== 'darwin' || each !== '/usr/bin');
    const found = await Promise.all(NAMES.map((name) => inDirectories(name, searched, platform)));
    const pythons = new Set([...(await this.#options.pythons()), ...found]);
    const launchers = [...pythons].flatMap((python) => (python === undefined ? [] : [[python, script]]));
    const uv = await inDirectories('uv', directories, platform);
    return uv === undefined
      ? launchers
      : [...launchers, [uv, 'run', '--no-project', '--python', '>=3.11', script, '--uv', uv]];
  }

  /** Run the script; returns its exit code, which is undefined if it could not be started, and its last line. */
  async #run(
    [program = '', ...args]: string[],
    report: (message: string) => void,
    signal?: AbortSignal,
  ): Promise<{ code?: number | null; last: string }> {
    const { env, log } = this.#options;
    let last = '';
    log.info([program, ...args].join(' '));
    // A workspace must not choose the Python of uv.
    const child = spawn(program, args, { env, cwd: homedir(), windowsHide: true });
    const cancel = () => child.stdin.end();
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted) {
      cancel();
    }
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.info(line);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      last = line;
      report(line);
    });
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, last };
    } catch (error) {
      log.info(String(error));
      return { last };
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  async #wheel(): Promise<{ path: string; key: string } | undefined> {
    const names = await readdir(this.#options.wheels).catch(() => []);
    const name = names.find((each) => each.endsWith('.whl'));
    if (name === undefined) {
      return undefined;
    }
    const path = join(this.#options.wheels, name);
    // Another build of the same version has its own environment.
    const hash = createHash('sha256').update(await readFile(path));
    return { path, key: hash.digest('hex').slice(0, 16) };
  }

  async #current(): Promise<Current | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#options.storage, 'current.json'), 'utf8')) as Current;
    } catch {
      return undefined;
    }
  }
}
