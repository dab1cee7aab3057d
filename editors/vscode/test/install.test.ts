import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { DaemonError } from '../src/daemon/errors';
import { Installer, withSeconds } from '../src/daemon/install';
import { directory, Lines, until } from './real';

/**
 * A program that does what the steps of an installation ask of a Python or of uv, and writes them down. `$FAIL` is a word
 * in the requirement that cannot be installed.
 */
const PYTHON = `#!/bin/sh
PATH=/usr/bin:/bin
echo "$(basename "$0") $*" >> "$STEPS"
case "$*" in
  "-c "*) [ -z "$OLD" ] ;;
  "venv --clear"* | "-m venv --clear"*)
    for directory; do :; done
    mkdir -p "$directory/bin" && cp "$0" "$directory/bin/python" ;;
  *"pip install"*)
    if [ -n "$HANG" ]; then exec sleep 60; fi
    if [ -n "$FAIL" ]; then case "$*" in *"$FAIL"*) echo "ERROR: No matching distribution"; exit 1 ;; esac; fi
    printf '%s\\n' "Collecting pydantic>=2 (from jumpseat)" "  Downloading pydantic-2.whl (1 MB)" \
      "Installing collected packages: pydantic, jumpseat"
    case "$*" in *--python*) python=$4 ;; *) python=$0 ;; esac
    printf '#!/bin/sh\\necho jumpseat 0.1.0\\n' > "$(dirname "$python")/jumpseat"
    chmod +x "$(dirname "$python")/jumpseat" ;;
esac
`;

interface Machine {
  installer: Installer;
  storage: string;
  steps: () => string[];
  wheel: (text: string) => void;
}

function machine(programs: string[], env: NodeJS.ProcessEnv = {}, offered: string[] = []): Machine {
  const root = directory();
  const bin = join(root, 'bin');
  for (const name of programs) {
    const path = join(bin, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, PYTHON);
    chmodSync(path, 0o755);
  }
  mkdirSync(join(root, 'wheel'));
  const wheel = (text: string) => {
    writeFileSync(join(root, 'wheel', 'jumpseat-0.1.0-py3-none-any.whl'), text);
  };
  wheel('first');
  const storage = join(root, 'storage');
  return {
    storage,
    wheel,
    steps: () =>
      existsSync(join(root, 'steps')) ? readFileSync(join(root, 'steps'), 'utf8').trim().split('\n') : [],
    installer: new Installer({
      wheels: join(root, 'wheel'),
      storage,
      env: { STEPS: join(root, 'steps'), ...env },
      directories: [bin],
      platform: 'linux',
      pythons: () => Promise.resolve(offered.map((name) => join(bin, name))),
      log: new Lines(),
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

test('a Python makes the environment, and the wheel is installed into it', async () => {
  const { installer, steps } = machine(['python3']);
  const reports: string[] = [];
  assert.equal(await installer.installed(), undefined);

  const program = await installer.install((message) => reports.push(message));

  assert.ok(existsSync(program));
  assert.deepEqual(reports, [
    'Waiting for other windows',
    'Looking for Python',
    'Making an environment for Python',
    'Installing packages',
    'Installing packages: pydantic',
    'Installing packages: pydantic-2.whl',
    'Installing packages: unpacking',
    'Checking the installation',
  ]);
  assert.match(steps()[2] ?? '', /^python -m pip install .* jumpseat\[local,keyring\] @ file:\/\/.*\.whl$/);
  assert.equal(await installer.installed(), program);
  assert.equal(await installer.install(() => undefined), program);
  assert.equal(steps().length, 3);
});

test('a step that prints nothing shows how long the installation has taken', async () => {
  const reports: string[] = [];
  const { report, stop } = withSeconds((message) => reports.push(message), 1);
  report('Installing packages');
  await until(() => reports.length > 2, 'no message was repeated');
  stop();
  assert.match(reports.at(-1) ?? '', /^Installing packages \(\d+ s\)$/);
});

test('what cannot be installed here is left out', async () => {
  const { installer, steps } = machine(['python3'], { FAIL: 'local' });

  await installer.install(() => undefined);

  assert.match(steps().at(-1) ?? '', /jumpseat\[keyring\] @/);
});

test('a failed installation leaves nothing, and says why', async () => {
  const { installer, storage } = machine(['python3'], { FAIL: 'keyring' });

  const error = await failure(installer.install(() => undefined));

  assert.equal(error.message, 'The installation of jumpseat failed: No matching distribution');
  assert.match(error.sentence, /Show Log.*Restart Server/);
  assert.equal(await installer.installed(), undefined);
  assert.deepEqual(readdirSync(storage), []);
});

test('a cancelled installation leaves nothing', async () => {
  const { installer, storage, steps } = machine(['python3'], { HANG: '1' });
  const abort = new AbortController();
  const installed = failure(installer.install(() => undefined, abort.signal));
  await until(() => steps().length === 3, 'packages are being installed');
  abort.abort();

  assert.equal((await installed).message, 'The installation of jumpseat was cancelled.');
  assert.deepEqual(readdirSync(storage), []);
});

test('the interpreters of the Python extension come first', async () => {
  const { installer, steps } = machine(['python3', 'theirs'], {}, ['theirs']);

  await installer.install(() => undefined);

  assert.match(steps()[1] ?? '', /^theirs -m venv --clear /);
});

test('uv makes the environment where no Python fits', async () => {
  const { installer, steps } = machine(['python3', 'uv'], { OLD: '1' });

  await installer.install(() => undefined);

  assert.match(steps()[0] ?? '', /^python3 -c /);
  assert.match(steps()[1] ?? '', /^uv venv --clear --python >=3\.11 /);
  assert.match(steps()[2] ?? '', /^uv pip install --python .*\/bin\/python jumpseat\[/);
});

test('without a Python and without uv the error says what is needed', async () => {
  const { installer } = machine(['python3'], { OLD: '1' });

  assert.match(
    (await failure(installer.install(() => undefined))).sentence,
    /needs Python 3\.11 or newer with venv, or uv, and found neither\..*python3-venv/,
  );
});

test('another wheel is installed beside the first, which older windows still use; the one before goes', async () => {
  const { installer, storage, wheel } = machine(['python3']);
  const first = await installer.install(() => undefined);
  wheel('second');
  assert.equal(await installer.installed(), undefined);
  assert.equal(await installer.older(), first);

  const second = await installer.install(() => undefined);
  assert.ok(existsSync(first));
  wheel('third');
  const third = await installer.install(() => undefined);

  assert.deepEqual([first, second, third].map(existsSync), [false, true, true]);
  assert.equal(readdirSync(storage).length, 3);
});

test('two windows install once', async () => {
  const { installer, steps } = machine(['python3']);

  const programs = await Promise.all([
    installer.install(() => undefined),
    installer.install(() => undefined),
  ]);

  assert.equal(programs[0], programs[1]);
  assert.equal(steps().length, 3);
});

test('a lock of a process that has ended is none', async () => {
  const { installer, storage } = machine(['python3']);
  mkdirSync(storage);
  writeFileSync(join(storage, 'lock'), '99999999');

  assert.ok(existsSync(await installer.install(() => undefined)));
});
