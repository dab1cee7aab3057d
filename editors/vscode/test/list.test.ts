import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Requests } from '../src/daemon/protocol';
import type { Daemon } from '../src/daemon/supervisor';
import { ModelList } from '../src/provider/list';
import { Lines, until } from './real';

/** A daemon whose providers answer when the test says so. */
class Providers {
  readonly asked: string[] = [];
  readonly #answers = new Map<string, () => void>();

  constructor(readonly ids: string[]) {}

  readonly request = (async (method: string, params: { provider?: string }) => {
    if (method === 'providers/list') {
      this.asked.push('providers');
      return { providers: this.ids.map((id) => ({ id, settingsSchema: [{ key: `${id}_setting` }] })) };
    }
    const id = params.provider ?? '';
    this.asked.push(id);
    await new Promise<void>((resolve) => this.#answers.set(id, resolve));
    return { models: [{ id: `${id}:m` }], errors: [] };
  }) as Daemon['request'];

  async answer(...ids: string[]): Promise<void> {
    for (const id of ids) {
      await until(() => this.#answers.has(id), `${id} is asked`);
      this.#answers.get(id)?.();
      this.#answers.delete(id);
    }
  }
}

const unexpected = () => assert.fail('announced again');
const idsOf = (models: Requests['models/list']['result']['models']) => models.map(({ id }) => id);

test('all who ask share one request, until the list changes', async () => {
  const providers = new Providers(['a', 'b']);
  const list = new ModelList(providers, new Lines(), unexpected);
  const asked = [list.models(), list.models()];
  await providers.answer('b', 'a');

  for (const models of [...asked, list.models()]) {
    assert.deepEqual(idsOf(await models), ['a:m', 'b:m']);
  }
  assert.deepEqual(providers.asked, ['providers', 'a', 'b']);
  assert.deepEqual([...list.settingsOf('a')], ['a_setting']);
  assert.deepEqual([...list.settingsOf('unheard')], []);

  list.forget();
  const again = list.models();
  await providers.answer('a', 'b');
  await again;
  assert.equal(providers.asked.length, 6);
});

test('a provider that is slow hides no other, and its models are added', async () => {
  const providers = new Providers(['slow', 'fast']);
  let late = 0;
  const list = new ModelList(providers, new Lines(), () => (late += 1), 100);
  const first = list.models();
  await providers.answer('fast');

  assert.deepEqual(idsOf(await first), ['fast:m']);
  assert.equal(late, 0);
  await providers.answer('slow');
  await until(() => late === 1, 'the list is announced again');
  assert.deepEqual(idsOf(await list.models()), ['slow:m', 'fast:m']);
  assert.equal(late, 1);
});

test('a daemon that cannot be used is asked again', async () => {
  let asked = 0;
  const request = (() => {
    asked += 1;
    return Promise.reject(new Error('no program'));
  }) as Daemon['request'];
  const list = new ModelList({ request }, new Lines(), unexpected);

  await assert.rejects(list.models(), /no program/);
  await assert.rejects(list.models(), /no program/);
  assert.equal(asked, 2);
});
