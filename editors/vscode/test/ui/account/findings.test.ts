import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ModelInfo, Provider } from '../../../src/daemon/protocol';
import { explainModels } from '../../../src/ui/account/findings';

const PROVIDER = {
  id: 'lab',
  name: 'Lab',
  kind: 'openai',
  authMethod: 'api_key',
  auth: { provider: 'lab', state: 'configured' },
} as Provider;
const MODEL = {
  id: 'lab:m',
  model: 'm',
  provider: 'lab',
  pickerEnabled: true,
  supportsToolUse: true,
} as ModelInfo;

function labels(...models: Partial<ModelInfo>[]): string[] {
  const rows = models.map((each) => ({ ...MODEL, ...each }));
  return explainModels(PROVIDER, rows, undefined, []).map(({ label }) => label);
}

test('models that are available need no explanation', () => {
  assert.deepEqual(labels({}), ['$(check) 1 model in the picker']);
});

test('each reason why models are missing is explained', () => {
  const reasons = labels(
    {},
    { policy: 'disabled' },
    { policy: 'unconfigured' },
    { pickerEnabled: false },
    { supportsToolUse: false },
  );
  assert.deepEqual(reasons, [
    '$(check) 3 models in the picker',
    '$(info) 1 model disabled by a policy',
    '$(info) 1 model with terms that are not accepted',
    '$(info) 1 model not meant for a picker',
    '$(info) 1 model not in agent mode',
  ]);
});

test('a provider without models is reported, and one without a key offers to set it', () => {
  assert.deepEqual(labels(), ['$(warning) no models']);
  const auth = { provider: 'lab', state: 'signed_out' as const, message: 'No key.' };
  const [finding] = explainModels({ ...PROVIDER, auth }, [], undefined, []);
  assert.equal(finding?.detail, 'No key.');
  assert.equal(finding.action?.command, 'jumpseat.setKey');
});

test('the failed checks of a provider that does not answer are listed', () => {
  const failure = { code: 1008, message: 'It does not answer.' };
  const checks = [
    { name: 'dns', ok: true, message: 'Fine.' },
    { name: 'signIn', ok: false, message: 'Refused.', hint: 'Try again.' },
    { name: 'clock', ok: null, message: 'Unknown.' },
  ];
  const findings = explainModels(PROVIDER, [], failure, checks);
  assert.deepEqual(
    findings.map(({ label, detail }) => [label, detail]),
    [
      ['$(warning) no list of models', 'It does not answer.'],
      ['$(error) sign in', 'Refused. Try again.'],
    ],
  );
});
