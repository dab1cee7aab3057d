import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Requests } from '../src/daemon/protocol';
import type { Daemon } from '../src/daemon/supervisor';
import { ModelList } from '../src/provider/list';
import { Lines, until } from './helpers';

/** A fake daemon. Each of its providers lists one model, when the test calls `answer`. */
class Providers {
  readonly asked: string[] = [];
  /** The name of the model that each provider lists. */
  model = 'm';
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
    return { models: [{ id: `${id}:${this.model}` }], errors: [] };
  }) as Daemon['request'];

  async answer(...ids: string[]): Promise<void> {
    for (const id of ids) {
      await until(() => this.#answers.has(id), `${id} is asked`);
      this.#answers.get(id)?.();
      this.#answers.delete(id);
    }
  }
}

const unexpected = () => assert.fail('announced a change');
const idsOf = (models: Requests['models/list']['result']['models']) => models.map(({ id }) => id);

test('callers that wait at the same time share the requests', async () => {
  const providers = new Providers(['a', 'b']);
  const list = new ModelList(providers, new Lines(), unexpected);
  const asked = [list.waitForModels(), list.waitForModels()];
  await providers.answer('b', 'a');

  for (const models of asked) {
    assert.deepEqual(idsOf(await models), ['a:m', 'b:m']);
  }
  assert.deepEqual(providers.asked, ['providers', 'a', 'b']);
  assert.deepEqual([...list.settingsOf('a')], ['a_setting']);
  assert.deepEqual([...list.settingsOf('unheard')], []);
});

test('a slow provider does not delay the others, and its models are added later', async () => {
  const providers = new Providers(['slow', 'fast']);
  let changes = 0;
  const list = new ModelList(providers, new Lines(), () => (changes += 1), 100);
  const first = list.waitForModels();
  await providers.answer('fast');

  assert.deepEqual(idsOf(await first), ['fast:m']);
  assert.equal(changes, 0);
  await providers.answer('slow');
  await until(() => changes === 1, 'the list is announced again');
  const second = list.waitForModels();
  await providers.answer('fast', 'slow');
  assert.deepEqual(idsOf(await second), ['slow:m', 'fast:m']);
  assert.equal(changes, 1);
});

test('a caller does not wait for the installation of the daemon', async () => {
  let install = (): void => undefined;
  const installed = new Promise<void>((resolve) => (install = resolve));
  const providers = new Providers(['a']);
  const request = (async (...call: Parameters<Daemon['request']>) => {
    await installed;
    return providers.request(...call);
  }) as Daemon['request'];
  let changes = 0;
  const list = new ModelList({ request }, new Lines(), () => (changes += 1), 20);

  assert.deepEqual(await list.waitForModels(), []);
  install();
  await providers.answer('a');
  await until(() => changes === 1, 'the models are announced');
});

test('a check announces a list of models only if it has changed', async () => {
  const providers = new Providers(['a']);
  let changes = 0;
  const list = new ModelList(providers, new Lines(), () => (changes += 1));
  const first = list.waitForModels();
  await providers.answer('a');
  await first;

  for (const [model, expected] of [
    ['m', 0],
    ['new', 1],
  ] as const) {
    providers.model = model;
    list.check();
    const again = list.waitForModels();
    await providers.answer('a');
    assert.deepEqual(idsOf(await again), [`a:${model}`]);
    assert.equal(changes, expected);
  }
});

test('an invalidated list is read again, even while a request is pending', async () => {
  const providers = new Providers(['a']);
  const list = new ModelList(providers, new Lines(), unexpected);
  const before = list.waitForModels();
  await until(() => providers.asked.length === 2, 'the list is being read');
  list.invalidate();
  const after = list.waitForModels();
  await until(() => providers.asked.length === 4, 'it is read again');
  await providers.answer('a');
  assert.deepEqual(idsOf(await after), ['a:m']);
  assert.equal(await Promise.race([before, Promise.resolve('waits')]), 'waits');
});

test('after a failure, the next caller sends the request again', async () => {
  let asked = 0;
  const request = (() => {
    asked += 1;
    return Promise.reject(new Error('no program'));
  }) as Daemon['request'];
  const list = new ModelList({ request }, new Lines(), unexpected);

  await assert.rejects(list.waitForModels(), /no program/);
  await assert.rejects(list.waitForModels(), /no program/);
  assert.equal(asked, 2);
});
