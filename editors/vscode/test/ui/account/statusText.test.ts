import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { AuthStatus, ModelInfo, Provider } from '../../../src/daemon/protocol';
import { groupModelRows } from '../../../src/ui/account/modelRows';
import { formatLabel, formatStatus } from '../../../src/ui/account/statusText';
import type { Facts } from '../../../src/ui/common/facts';

function provider(auth: Partial<AuthStatus>, configured = true): Provider {
  return {
    id: 'copilot',
    name: 'GitHub Copilot',
    kind: 'copilot',
    isDefault: true,
    configured,
    auth: { provider: 'copilot', state: 'signed_in', ...auth },
    capabilities: {},
    capabilitySources: {},
    settingsSchema: [],
  };
}

const MODEL = {
  id: 'copilot:gpt',
  provider: 'copilot',
  model: 'gpt',
  name: 'GPT',
  pickerEnabled: true,
} as ModelInfo;

function ready(more: Partial<Facts>): Facts {
  return {
    state: 'ready',
    version: '9.8.7',
    providers: [provider({})],
    models: [],
    failures: new Map(),
    model: MODEL,
    ...more,
  };
}

const QUOTA = { name: 'premium_interactions', unlimited: false, percentRemaining: 41.7 };

test('the status bar shows the default model and the remaining quota', () => {
  const { text, look } = formatStatus(ready({ providers: [provider({ quotas: [QUOTA] })] }));
  assert.deepEqual([text, look], ['$(comment-discussion) GPT · 41 %', 'normal']);
});

test('the label for screen readers contains the name of the product once', () => {
  assert.equal(formatLabel(formatStatus(ready({})).text), 'jumpseat: GPT');
  assert.equal(formatLabel(formatStatus(ready({ state: 'starting' })).text), 'jumpseat');
  assert.equal(
    formatLabel(formatStatus(ready({ providers: [provider({}, false)] })).text),
    'jumpseat: no provider is ready',
  );
});

test('a quota that is nearly used up is a warning, unless more may be bought', () => {
  const low = { ...QUOTA, percentRemaining: 3 };
  const look = (overagePermitted: boolean): string =>
    formatStatus(ready({ providers: [provider({ quotas: [{ ...low, overagePermitted }] })] })).look;
  assert.deepEqual([look(false), look(true)], ['warning', 'normal']);
});

test("only a quota of the default model's provider is shown", () => {
  const other = { ...provider({ quotas: [QUOTA] }), id: 'other' };
  assert.equal(
    formatStatus(ready({ providers: [other, { ...provider({}), isDefault: false }] })).text,
    '$(comment-discussion) GPT',
  );
});

test('a provider that does not answer is a warning, and not shown as ready', () => {
  const error = { code: 1008, message: 'Connection refused.', data: { kind: 'connection', retryable: true } };
  const failures = new Map([['copilot', error]]);
  const { text, tooltip, look } = formatStatus(ready({ failures, model: undefined }));
  assert.deepEqual([text, look], ['$(debug-disconnect) jumpseat: copilot does not answer', 'warning']);
  assert.match(tooltip, /does not answer · default\n {2}- Connection refused/);
  const signedOut = [provider({ state: 'signed_out' })];
  assert.doesNotMatch(formatStatus(ready({ failures, providers: signedOut })).tooltip, /does not answer/);
});

test('without a quota the model is shown alone', () => {
  assert.equal(formatStatus(ready({})).text, '$(comment-discussion) GPT');
});

test('a sign-out is a warning', () => {
  const { text, look } = formatStatus(ready({ providers: [provider({ state: 'expired' })] }));
  assert.deepEqual([text, look], ['$(account) jumpseat: expired', 'warning']);
});

test('a default provider without sign-ins is called not ready instead of signed out', () => {
  const local = { ...provider({ state: 'signed_out' }, false), authMethod: 'none' as const };
  const other = { ...provider({}), id: 'other', isDefault: false };
  const { text, look } = formatStatus(ready({ providers: [local, other], model: undefined }));
  assert.deepEqual([text, look], ['$(account) jumpseat: not ready', 'warning']);
});

test('a warning is shown if no provider is ready', () => {
  const { text } = formatStatus(
    ready({ providers: [provider({ state: 'signed_out' }, false)], model: undefined }),
  );
  assert.equal(text, '$(account) jumpseat: no provider is ready');
});

test('a daemon that cannot be started is shown as an error, with the reason', () => {
  const { look, tooltip } = formatStatus({
    state: 'failed',
    failure: 'The program was not found',
    providers: [],
    models: [],
    failures: new Map(),
  });
  assert.equal(look, 'error');
  assert.match(tooltip, /The program was not found/);
});

test('the tooltip has the version, the model, the accounts and the quotas', () => {
  const { tooltip } = formatStatus(
    ready({ providers: [provider({ login: 'mona_l', plan: 'pro', quotas: [QUOTA] })] }),
  );
  assert.match(tooltip, /\*\*jumpseat 9\.8\.7\*\* · ready/);
  assert.match(tooltip, /Default model: copilot:gpt/);
  assert.match(tooltip, /signed in as mona\\_l · pro · default/);
  assert.match(tooltip, /premium interactions: 41 % left/);
});

test('the picker lists the models by provider, and failed providers at the end', () => {
  const hidden = { ...MODEL, model: 'old', pickerEnabled: false };
  const other = { ...MODEL, provider: 'fake', model: 'm', name: 'm' };
  const error = { code: 1000, message: 'No key.' };
  const rows = groupModelRows({ models: [MODEL, hidden, other], errors: [{ provider: 'groq', error }] });
  assert.deepEqual(
    [...rows].map(([heading, below]) => [heading, ...below.map(({ label }) => label)]),
    [
      ['copilot', 'gpt (GPT)'],
      ['fake', 'm'],
      ['not available', '$(warning) groq'],
    ],
  );
  assert.equal(rows.get('not available')?.[0]?.detail, 'No key.');
});
