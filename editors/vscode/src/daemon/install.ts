import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { l10n } from 'vscode';

import type { Log } from '../base/log';
import { createSetUpError } from './errors';
import { findInDirectories } from './program';

/** The script's exit codes. Any other code means that the Python or uv that was tried could not run the script. */
const [INSTALLED, FAILED, CANCELLED] = [0, 20, 21];
const PYTHON_NAMES = ['python3', 'python', 'python3.14', 'python3.13', 'python3.12', 'python3.11'];
const HINT = l10n.t(
  '"jumpseat: Show Log" shows all output, and "jumpseat: Restart Server" tries again. You can also set jumpseat.path to another program.',
);

interface InstallOptions {
  /** The installer script that all editors share. It installs the daemon's wheel from the script's own directory. */
  script: string;
  /** The directory for the virtual environments. */
  storage: string;
  env: NodeJS.ProcessEnv;
  /** The directories to search for Python and uv. */
  directories: readonly string[];
  platform: NodeJS.Platform;
  /** Return the interpreters found by VS Code's Python extension. */
  pythons(): Promise<string[]>;
  log: Log;
}

/** The contents of the file that the script writes when an environment is complete. */
interface Current {
  key: string;
  program: string;
}

/** The extension's own installation of the daemon, made by `bootstrap.py`. */
export class Installer {
  readonly #options: InstallOptions;

  constructor(options: InstallOptions) {
    this.#options = options;
  }

  /** Return the installed program for this version of the extension, or undefined if there is none. */
  async findInstalled(): Promise<string | undefined> {
    const [key, current] = [await this.#computeKey(), await this.#readCurrent()];
    return key !== undefined && current?.key === key ? current.program : undefined;
  }

  /** Return the installed program of any version, to be used if this version cannot be installed. */
  async findOlder(): Promise<string | undefined> {
    return (await this.#readCurrent())?.program;
  }

  /** Install the daemon and return the program. Throws a `DaemonError`. */
  async install(report: (message: string) => void, signal?: AbortSignal): Promise<string> {
    const key = await this.#computeKey();
    if (key === undefined) {
      throw createSetUpError(l10n.t('The program jumpseat was not found.'), HINT);
    }
    const args = ['--directory', this.#options.storage, '--key', key];
    report(l10n.t('Looking for Python'));
    for (const launcher of await this.#findLaunchers()) {
      const { code, last } = await this.#run([...launcher, ...args], report, signal);
      const program = code === INSTALLED ? await this.findInstalled() : undefined;
      if (program) {
        return program;
      }
      if (code === FAILED || code === CANCELLED) {
        throw createSetUpError(last, HINT);
      }
    }
    throw createSetUpError(
      l10n.t('jumpseat needs uv, or Python 3.11 or newer with venv. Neither was found.'),
      l10n.t('Install one of them (on Debian and Ubuntu: apt install python3-venv). {0}', HINT),
    );
  }

  /** Return the commands that can run the script, best first. */
  async #findLaunchers(): Promise<string[][]> {
    const { directories, platform, script } = this.#options;
    // Skip Apple's Python: it is too old, and if developer tools are missing, it offers to install them.
    const searched = directories.filter((each) => platform !== 'darwin' || each !== '/usr/bin');
    const found = await Promise.all(PYTHON_NAMES.map((name) => findInDirectories(name, searched, platform)));
    const pythons = new Set([...(await this.#options.pythons()), ...found]);
    const launchers = [...pythons].flatMap((python) => (python === undefined ? [] : [[python, script]]));
    const uv = await findInDirectories('uv', directories, platform);
    return uv === undefined
      ? launchers
      : [...launchers, [uv, 'run', '--no-project', '--python', '>=3.11', script, '--uv', uv]];
  }

  /** Run the script. Returns the last line of its stdout, and its exit code if it could be started. */
  async #run(
    [program = '', ...args]: string[],
    report: (message: string) => void,
    signal?: AbortSignal,
  ): Promise<{ code?: number | null; last: string }> {
    const { env, log } = this.#options;
    let last = '';
    log.info([program, ...args].join(' '));
    // Run uv in the home directory, so that no file of a workspace chooses its Python.
    const child = spawn(program, args, { env, cwd: homedir(), windowsHide: true });
    // The script cancels the installation when its stdin ends.
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

  /** Return the key of the installation: the wheel's hash, so that each build of a version has its own environment. */
  async #computeKey(): Promise<string | undefined> {
    const directory = dirname(this.#options.script);
    const names = await readdir(directory).catch(() => []);
    const name = names.find((each) => each.endsWith('.whl'));
    if (name === undefined) {
      return undefined;
    }
    const hash = createHash('sha256').update(await readFile(join(directory, name)));
    return hash.digest('hex').slice(0, 16);
  }

  async #readCurrent(): Promise<Current | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#options.storage, 'current.json'), 'utf8')) as Current;
    } catch {
      return undefined;
    }
  }
}
