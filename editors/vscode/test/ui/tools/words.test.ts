import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ToolApproval } from '../../../src/daemon/protocol';
import { formatApproval, listChoices } from '../../../src/ui/tools/words';

const ASK: ToolApproval = {
  toolUseId: 'c1',
  server: 'files',
  tool: 'edit',
  title: 'Edit a.py',
  kind: 'edit',
  arguments: { path: 'a.py' },
  reason: 'ask',
  remember: ['turn', 'conversation', 'always'],
};

test('a decision is remembered only as the daemon allows', () => {
  const titles = (approval: ToolApproval) => listChoices(approval).map(({ title }) => title);
  assert.deepEqual(titles(ASK), [
    'Allow',
    'Allow in This Conversation',
    'Always Allow',
    'Deny',
    'Deny and Say Why…',
  ]);
  assert.deepEqual(titles({ ...ASK, remember: ['turn'] })[1], 'Allow in This Answer');
  assert.deepEqual(titles({ ...ASK, remember: [] }), ['Allow', 'Deny', 'Deny and Say Why…']);
});

test('a request for approval contains the title, the reason and the diff', () => {
  const diff = [{ uri: 'file:///a.py', oldText: 'a\n', newText: 'b\n' }];
  assert.equal(
    formatApproval({ ...ASK, reason: 'outside', diff }),
    '**Edit a\\.py** · It uses a path outside the workspace.\n\n```diff\n-a\n+b\n```\n',
  );
});

test('arguments that the title does not contain are shown', () => {
  assert.match(formatApproval({ ...ASK, arguments: { query: 'DROP' } }), /query: DROP/);
  assert.equal(formatApproval(ASK), '**Edit a\\.py**\n\n');
});
