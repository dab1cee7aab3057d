import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ChatDelta, Usage } from '../../../src/daemon/protocol';
import type { Daemon } from '../../../src/daemon/supervisor';
import { formatUsage, SessionUsage } from '../../../src/ui/common/usage';

const USAGE: Usage = { inputTokens: 1204, outputTokens: 87, cacheReadTokens: 0, cacheCreationTokens: 0 };

test('the tokens and the cost of an answer are on one line', () => {
  assert.equal(formatUsage(USAGE), '1,204 tokens in · 87 out');
  const more = { ...USAGE, cacheReadTokens: 1000, reasoningTokens: 40 };
  assert.equal(
    formatUsage({ ...more, cost: { amount: 0.00314, currency: 'USD' } }),
    '1,204 tokens in (1,000 cached) · 87 out (40 thinking) · $0.0031',
  );
  assert.equal(formatUsage({ ...USAGE, inputTokens: 0, outputTokens: 0 }), '');
  assert.equal(formatUsage(undefined), '');
});

test('the tokens and the costs of all answers in a window are added up', () => {
  let notify: (params: ChatDelta) => void = () => undefined;
  const daemon = {
    onNotification: (_method: string, handler: typeof notify) => {
      notify = handler;
      return { dispose: () => undefined };
    },
  } as unknown as Daemon;
  const session = new SessionUsage(daemon);
  assert.equal(session.describe(), '');
  for (const cost of [{ amount: 1, currency: 'USD' }, { amount: 0.5, currency: 'USD' }, undefined]) {
    const usage = { ...USAGE, ...(cost && { cost }) };
    notify({ requestId: 1, turnId: 't', delta: { type: 'done', stopReason: 'end_turn', usage } });
  }
  notify({ requestId: 1, turnId: 't', delta: { type: 'done', stopReason: 'cancelled' } });
  assert.equal(session.describe(), '3 answers · 3,612 tokens in · 261 out · $1.50');
});
