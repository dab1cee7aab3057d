import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { readChanges } from '../../../src/ui/scm/git';

/** A repository with two branches that changed the same file. */
class Repository {
  readonly #directory = mkdtempSync(join(tmpdir(), 'git-'));

  constructor(t: TestContext) {
    t.after(() => {
      rmSync(this.#directory, { recursive: true });
    });
    this.git('init', '--quiet', '--initial-branch=main');
    this.#commit('one');
    this.git('checkout', '--quiet', '-b', 'other');
    this.#commit('two');
    this.git('checkout', '--quiet', 'main');
    this.#commit('three');
  }

  git(...args: string[]): string {
    const options = { cwd: this.#directory, encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@localhost', ...args], options);
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.#directory, name), `${text}\n`);
  }

  diff(cached: boolean): Promise<string> {
    return Promise.resolve(this.git('diff', ...(cached ? ['--cached'] : [])));
  }

  #commit(text: string): void {
    this.write('a.txt', text);
    this.git('add', '.');
    this.git('commit', '--quiet', '--message', text);
  }
}

test('the staged changes are read, or all changes if none are staged', async (t) => {
  const repository = new Repository(t);
  repository.write('a.txt', 'four');
  assert.match(await readChanges(repository), /^\+four$/m);
  repository.write('b.txt', 'new');
  repository.git('add', 'b.txt');
  assert.match(await readChanges(repository), /^\+new$/m);
  assert.doesNotMatch(await readChanges(repository), /four/);
});

test('without other staged changes, the changes of unmerged files are read', async (t) => {
  const repository = new Repository(t);
  assert.throws(() => repository.git('merge', 'other'));
  assert.match(await readChanges(repository), /^diff --cc a\.txt$[^]*^ \+three$/m);
});
