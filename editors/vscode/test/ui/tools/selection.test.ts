import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ToolRow, ToolServerRow } from '../../../src/daemon/protocol';
import { toRows } from '../../../src/ui/tools/selection';

const TOOL: ToolRow = { server: 'git', tool: 'log', description: '', decision: 'ask', tokens: 40 };

test('a server with tools is shown with their cost and the need for approval', () => {
  const decisions = ['allow', 'ask', 'deny'] as const;
  const tools = decisions.map((decision) => ({ ...TOOL, tool: decision, decision }));
  const rows = toRows(tools, [{ name: 'git', state: 'running' }], []);
  assert.deepEqual(
    rows.map(({ description, detail }) => [description, detail]),
    [['2 tools · about 80 tokens in each request', 'allow, ask (needs approval)']],
  );
});

test('one tool is counted in the singular', () => {
  const [row] = toRows([TOOL], [{ name: 'git', state: 'running' }], []);
  assert.equal(row?.description, '1 tool · about 40 tokens in each request');
});

test('a server without tools is shown with its state, even one of a newer daemon', () => {
  const states = ['needs_sign_in', 'sound_asleep'];
  const servers = states.map((state) => ({ name: 'git', state })) as unknown as ToolServerRow[];
  assert.deepEqual(
    toRows([], servers, []).map(({ description }) => description),
    ['needs a sign-in', 'sound asleep'],
  );
});
