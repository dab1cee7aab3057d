import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { DaemonError } from '../src/daemon/errors';
import { Installer } from '../src/daemon/install';
import { directory, Lines, until } from './helpers';

/**
 * A fake `python3` or `uv`, which imitates the script that installs the daemon. The environment variable with its name makes
 * it hang, fail, or exit like an interpreter that is too old.
 */
const PROGRAM = `#!/bin/sh
PATH=/usr/bin:/bin
name=$(basename "$0")
echo "$name $*" >> "$STEPS"
echo "from $name" >&2
eval "ending=\\$$name"
case "$ending" in
  hang) echo "Installing packages (0 s)"; cat; echo "It was cancelled."; exit 21 ;;
  fail) echo "No network."; exit 20 ;;
  "") ;;
  *) exit 1 ;;
esac
while [ "$1" != --directory ]; do shift; done
mkdir -p "$2"
printf '{"key": "%s", "program": "%s/jumpseat"}' "$4" "$2" > "$2/current.json"
echo "Installing packages (0 s)"
echo "jumpseat 9.9 is installed."
`;

interface Machine {
  installer: Installer;
  storage: string;
  log: Lines;
  steps: () => string[];
  setWheel: (text: string) => void;
}

/**
 * @param programs the programs in the directory that is searched
 * @param env variables for these programs; see `PROGRAM`
 * @param offered the interpreters that the Python extension has found
 */
function createMachine(programs: string[], env: NodeJS.ProcessEnv = {}, offered: string[] = []): Machine {
  const root = directory();
  for (const name of programs) {
    const path = join(root, name);
    writeFileSync(path, PROGRAM);
    chmodSync(path, 0o755);
  }
  mkdirSync(join(root, 'dist'));
  const setWheel = (text: string) => {
    writeFileSync(join(root, 'dist', 'jumpseat-9.9-py3-none-any.whl'), text);
  };
  setWheel('first');
  const steps = join(root, 'steps');
  const storage = join(root, 'storage');
  const log = new Lines();
  return {
    storage,
    log,
    setWheel,
    steps: () => (existsSync(steps) ? readFileSync(steps, 'utf8').trim().split('\n') : []),
    installer: new Installer({
      script: join(root, 'dist', 'bootstrap.py'),
      storage,
      env: { STEPS: steps, ...env },
      directories: [root],
      platform: 'linux',
      pythons: () => Promise.resolve(offered.map((name) => join(root, name))),
      log,
    }),
  };
}

async function failure(promise: Promise<unknown>): Promise<DaemonError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DaemonError, String(error));
  return error;
}

test('Python runs the script, and the lines of its output are reported as progress', async () => {
  const { installer, log, steps, storage } = createMachine(['python3']);
  const reports: string[] = [];
  assert.equal(await installer.findInstalled(), undefined);

  const program = await installer.install((message) => reports.push(message));

  assert.equal(program, join(storage, 'jumpseat'));
  assert.equal(await installer.findInstalled(), program);
  assert.deepEqual(reports, [
    'Looking for Python',
    'Installing packages (0 s)',
    'jumpseat 9.9 is installed.',
  ]);
  assert.match(steps()[0] ?? '', /^python3 \S+\/bootstrap\.py --directory \S+ --key \w{16}$/);
  assert.ok(log.lines.includes('info from python3'));
});

test('the error of a failed installation says why it failed, and what to do', async () => {
  const { installer, steps } = createMachine(['python3', 'uv'], { python3: 'fail' });

  const error = await failure(installer.install(() => undefined));

  assert.equal(error.message, 'No network.');
  assert.match(error.sentence, /Show Log.*Restart Server/);
  assert.equal(steps().length, 1);
});

test('cancelling an installation ends the script', async () => {
  const { installer } = createMachine(['python3'], { python3: 'hang' });
  const abort = new AbortController();
  const reports: string[] = [];
  const installed = failure(installer.install((message) => reports.push(message), abort.signal));
  await until(() => reports.length === 2, 'packages are being installed');
  abort.abort();

  assert.equal((await installed).message, 'It was cancelled.');
});

test('interpreters of the Python extension are tried first, and uv last', async () => {
  const { installer, steps } = createMachine(['python3', 'theirs', 'uv'], { python3: 'old', theirs: 'old' }, [
    'gone',
    'theirs',
  ]);

  await installer.install(() => undefined);

  assert.deepEqual(
    steps().map((step) => step.split(' ')[0]),
    ['theirs', 'python3', 'uv'],
  );
  assert.match(
    steps()[2] ?? '',
    /^uv run --no-project --python >=3\.11 \S+\/bootstrap\.py --uv \S+\/uv --directory /,
  );
});

test('if no Python can run the script and uv is missing, the error says what is needed', async () => {
  const { installer } = createMachine(['python3'], { python3: 'old' });

  assert.match(
    (await failure(installer.install(() => undefined))).sentence,
    /needs uv, or Python 3\.11 or newer with venv\. Neither was found\..*python3-venv/,
  );
});

test('a program that was installed from another wheel counts as an older one', async () => {
  const { installer, setWheel } = createMachine(['python3']);
  const first = await installer.install(() => undefined);
  setWheel('second');

  assert.equal(await installer.findInstalled(), undefined);
  assert.equal(await installer.findOlder(), first);
});
