import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { AuthStatus, ModelInfo, Provider, Quota } from '../../../src/daemon/protocol';
import {
  describeAccount,
  describePrompt,
  describeSignIn,
  describeSignOut,
  formatAge,
  describeConversation,
  findLeastQuota,
  describeAbilities,
  describeLimits,
  percentLeft,
  formatQuota,
} from '../../../src/ui/common/words';

const MODEL: ModelInfo = {
  id: 'copilot:gpt-4.1',
  provider: 'copilot',
  model: 'gpt-4.1',
  name: 'GPT-4.1',
  family: 'gpt-4.1',
  version: '1',
  supportsVision: true,
  supportsToolUse: true,
  supportsStreaming: true,
  supportsThinking: false,
  supportsJson: true,
  preview: false,
  deprecated: false,
  pickerEnabled: true,
  isDefault: true,
};

function quota(name: string, percentRemaining: number, more: Partial<Quota> = {}): Quota {
  return { name, unlimited: false, percentRemaining, ...more };
}

test('a model is described by its limits and its cost', () => {
  const model = {
    ...MODEL,
    maxContextTokens: 128_000,
    maxOutputTokens: 16_384,
    billing: { multiplier: 0.5 },
  };
  assert.equal(describeLimits(model), '128k context, 16k output · 0.5x');
});

test('a limit that is unknown is not shown', () => {
  assert.equal(describeLimits(MODEL), '');
  assert.equal(
    describeLimits({ ...MODEL, maxOutputTokens: 900, maxContextTokens: 512 }),
    '512 context, 900 output',
  );
});

test('a model whose terms are not accepted says so', () => {
  const model = { ...MODEL, isDefault: false, preview: true, policy: 'unconfigured' as const };
  assert.equal(describeAbilities(model), 'images, tools · preview · terms not accepted');
});

test('a disabled model is shown as such, and an unknown policy is not shown', () => {
  const describe = (policy: string): string =>
    describeAbilities({ ...MODEL, isDefault: false, policy: policy as NonNullable<ModelInfo['policy']> });
  assert.equal(describe('disabled'), 'images, tools · disabled');
  assert.equal(describe('sound_asleep'), 'images, tools');
  assert.equal(describe('enabled'), 'images, tools');
});

test('the default model says so', () => {
  assert.equal(describeAbilities(MODEL), 'images, tools · default');
});

test('the most used quota is found, and unlimited quotas are ignored', () => {
  const account: AuthStatus = {
    provider: 'copilot',
    state: 'signed_in',
    quotas: [
      quota('chat', 0, { unlimited: true }),
      quota('premium_interactions', 12.9),
      quota('completions', 80),
    ],
  };
  assert.equal(findLeastQuota(account)?.name, 'premium_interactions');
  assert.equal(findLeastQuota({ ...account, quotas: [] }), undefined);
  assert.equal(findLeastQuota(undefined), undefined);
});

test('what is left of a quota is never rounded up', () => {
  assert.equal(percentLeft(quota('chat', 0.9)), 0);
  assert.equal(percentLeft(quota('chat', -3)), 0);
});

test('a quota is described with the remaining count and the day of its reset', () => {
  const row = quota('premium_interactions', 41.7, {
    remaining: 125,
    entitlement: 300,
    resetAt: '2026-12-01T00:00:00Z',
  });
  assert.equal(formatQuota(row), 'premium interactions: 41 % left (125 of 300), resets on Dec 1, 2026');
  assert.equal(formatQuota(quota('chat', 100, { unlimited: true })), 'chat: unlimited');
});

test('an account is described by its state, its name and its plan', () => {
  const auth: AuthStatus = { provider: 'copilot', state: 'signed_in', login: 'mona', plan: 'business' };
  const provider = { id: 'copilot', isDefault: true, auth } as Provider;
  assert.equal(describeAccount(provider), 'signed in as mona · business · default');
  const local: AuthStatus = { provider: 'local', state: 'not_required' };
  assert.equal(describeAccount({ ...provider, auth: local, isDefault: false }), 'no sign-in needed');
});

test('only a provider with a sign-in is called signed out; others are not ready', () => {
  const line = (authMethod?: Provider['authMethod']): string =>
    describeAccount({
      auth: { provider: 'p', state: 'signed_out' },
      isDefault: false,
      ...(authMethod && { authMethod }),
    } as Provider);
  assert.equal(line('device_code'), 'signed out');
  assert.deepEqual([line('none'), line('api_key'), line()], ['not ready', 'not ready', 'not ready']);
});

test('a prompt names the code and the page, or for an MCP server only the page', () => {
  const prompt = { requestId: 1, provider: 'copilot', expiresAt: '2026-07-01T00:00:00Z' };
  const page = 'https://github.com/login/device';
  assert.equal(
    describePrompt({ ...prompt, userCode: 'ABCD-1234', verificationUri: page }),
    `enter the code ABCD-1234, which was copied, at [${page}](${page})`,
  );
  const other = 'https://auth.example.com/authorize?client_id=1';
  assert.equal(
    describePrompt({ ...prompt, provider: 'mcp:shop', host: 'auth.example.com', verificationUri: other }),
    `sign in at [auth.example.com](${other})`,
  );
});

test('a state that only a newer daemon has is shown by its name', () => {
  const auth = { provider: 'copilot', state: 'waiting_for_review' } as unknown as AuthStatus;
  assert.equal(describeAccount({ auth, isDefault: false } as Provider), 'waiting for review');
  assert.equal(describeSignIn(auth), 'copilot: waiting for review.');
});

test('the result of a sign-in or a sign-out includes the reason if nothing changed', () => {
  const account = { provider: 'copilot', state: 'signed_in', login: 'mona' } as const;
  const stays = 'mona stays signed in.';
  assert.equal(describeSignIn(account), 'Signed in to copilot as mona.');
  assert.equal(
    describeSignIn({ provider: 'ollama', state: 'not_required' }),
    'ollama does not need a sign-in.',
  );
  assert.equal(
    describeSignOut({ provider: 'copilot', state: 'signed_out', message: 'Sign in.' }),
    'Signed out of copilot.',
  );
  assert.equal(describeSignOut({ ...account, message: stays }), stays);
});

test('the age of a conversation is given in the largest unit', () => {
  const now = new Date('2026-03-10T12:00:00Z');
  const ages = [
    '2026-03-10T11:59:40Z',
    '2026-03-10T11:15:00Z',
    '2026-03-10T02:00:00Z',
    '2026-03-01T12:00:00Z',
    '2025-12-24T10:00:00Z',
  ];
  assert.deepEqual(
    ages.map((time) => formatAge(time, now)),
    ['now', '45 min', '10 h', '9 d', 'Dec 24, 2025'],
  );
  assert.equal(formatAge('2026-03-10T12:05:00Z', now), 'now');
});

test('a conversation is described by its age, its turns and its model', () => {
  const time = '2026-03-10T10:00:00Z';
  const row = { id: 'a', title: 'T', createdAt: time, updatedAt: time, turns: 1, model: 'fake:m' };
  assert.equal(describeConversation(row, new Date('2026-03-10T12:00:00Z')), '2 h · 1 turn · fake:m');
});
