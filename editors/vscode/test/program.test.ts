import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';

import { hasCredentials, buildProxyVariables } from '../src/base/proxy';
import { buildCommandLine, findProgram, type Surroundings } from '../src/daemon/program';
import { readShellEnvironment, parseVariables } from '../src/daemon/shell';
import { directory } from './helpers';

function program(path: string, text = '#!/bin/sh\n'): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

function around(facts: Partial<Surroundings> = {}): Surroundings & { asked: string[] } {
  const asked: string[] = [];
  return {
    env: { PATH: '' },
    home: '/nowhere',
    platform: 'linux',
    asked,
    shell: () => {
      asked.push('shell');
      return Promise.resolve(undefined);
    },
    installed: () => {
      asked.push('installed');
      return Promise.resolve(undefined);
    },
    ...facts,
  };
}

test('a program on the PATH is found without looking anywhere else', async () => {
  const home = directory();
  const path = program(join(home, 'two', 'jumpseat'));
  mkdirSync(join(home, 'one', 'jumpseat'), { recursive: true });
  const here = around({ env: { PATH: [join(home, 'one'), join(home, 'two')].join(delimiter) }, home });

  assert.equal((await findProgram('', here))?.program, path);
  assert.deepEqual(here.asked, []);
});

test('a program in ~/.local/bin is found without a PATH', async () => {
  const home = directory();
  const path = program(join(home, '.local', 'bin', 'jumpseat'));

  assert.equal((await findProgram('', around({ home })))?.program, path);
});

test('relative directories on the PATH are not searched', async () => {
  const here = around({ env: { PATH: ['', '.', 'bin'].join(delimiter) } });
  program(join(directory(), 'jumpseat'));

  assert.equal(await findProgram('', here), undefined);
});

test("the extension's own installation comes before the shell", async () => {
  const here = around({ installed: () => Promise.resolve('/own/jumpseat') });

  assert.equal((await findProgram('', here))?.program, '/own/jumpseat');
  assert.deepEqual(here.asked, []);
});

test("the login shell's PATH is searched last, and its variables are passed on", async () => {
  const home = directory();
  const path = program(join(home, 'tools', 'jumpseat'));
  const here = around({
    env: { PATH: '/usr/bin', EDITOR: 'code' },
    shell: () => Promise.resolve({ PATH: join(home, 'tools'), API_KEY: 'k', EDITOR: 'vi' }),
  });

  assert.deepEqual(await findProgram('', here), {
    program: path,
    env: { PATH: join(home, 'tools'), API_KEY: 'k', EDITOR: 'code' },
  });
});

test('no program is found if none is installed', async () => {
  const here = around();

  assert.equal(await findProgram('', here), undefined);
  assert.deepEqual(here.asked, ['installed', 'shell']);
});

test('the setting can be a path, a path in the home directory, or a name on the PATH', async () => {
  const home = directory();
  const path = program(join(home, 'bin', 'mine'));
  const here = around({ home, env: { PATH: join(home, 'bin') } });

  for (const setting of [path, '~/bin/mine', 'mine']) {
    assert.equal((await findProgram(setting, here))?.program, path);
  }
});

for (const setting of ['/nowhere/jumpseat', 'bin/jumpseat', './jumpseat', 'unheard-of']) {
  test(`a setting that does not name a program is an error: ${setting}`, async () => {
    await assert.rejects(findProgram(setting, around()), {
      message: `The program "${setting}" of the setting jumpseat.path was not found.`,
    });
  });
}

test('the settings become arguments, and variables of VS Code itself are removed', () => {
  const env = { PATH: '/bin', ELECTRON_RUN_AS_NODE: '1', VSCODE_IPC_HOOK: 'x' };
  const found = { program: '/bin/jumpseat', env };

  assert.deepEqual(
    buildCommandLine(found, { path: '', config: '~/c.toml', logLevel: 'debug' }, '/home/me', 7),
    {
      program: '/bin/jumpseat',
      args: ['attach', '--log-level', 'debug', '--clientProcessId', '7', '--config', '/home/me/c.toml'],
      env: { PATH: '/bin' },
      cwd: '/home/me',
    },
  );
});

test("VS Code's proxy settings become variables, without the user and password", () => {
  const settings = {
    proxy: 'http://me:canary@proxy.corp:3128',
    noProxy: ['.corp', '10.0.0.0/8'],
    support: 'override',
  };

  const proxy = 'http://proxy.corp:3128';
  assert.deepEqual(buildProxyVariables(settings), {
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '.corp,10.0.0.0/8' },
    ...{ http_proxy: proxy, https_proxy: proxy, no_proxy: '.corp,10.0.0.0/8' },
  });
  assert.equal(hasCredentials(settings.proxy), true);
  assert.equal(hasCredentials('https://proxy.corp:3128/'), false);
  assert.deepEqual(buildProxyVariables({ ...settings, support: 'off' }), {});
  assert.deepEqual(buildProxyVariables({ ...settings, proxy: '' }), {});
});

test('variables are parsed from the output of a shell, except multi-line ones', () => {
  assert.deepEqual(parseVariables(['Welcome!', 'A=1', 'KEY=one', 'two', 'B==x', 'C=']), {
    A: '1',
    B: '=x',
    C: '',
  });
});

test('a login shell is asked for its variables', async () => {
  const shell = program(
    join(directory(), 'sh'),
    '#!/bin/sh\n[ "$1 $2" = "-l -c" ] && ADDED=yes exec /bin/sh -c "$3"\n',
  );

  assert.equal((await readShellEnvironment({ ...process.env, SHELL: shell }))?.ADDED, 'yes');
});

test('a shell that fails or takes too long is ignored', async () => {
  const fails = program(join(directory(), 'sh'), '#!/bin/sh\nexit 1\n');
  const hangs = program(join(directory(), 'sh'), '#!/bin/sh\nexec sleep 60\n');

  assert.equal(await readShellEnvironment({ ...process.env, SHELL: fails }), undefined);
  assert.equal(await readShellEnvironment({ ...process.env, SHELL: hangs }, 300), undefined);
  assert.equal(await readShellEnvironment({}), undefined);
});
