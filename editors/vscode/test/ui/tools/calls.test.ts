import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Delta, ToolResultBlock } from '../../../src/daemon/protocol';
import { Calls } from '../../../src/ui/tools/calls';

function end(result: Partial<ToolResultBlock>, ...between: Delta[]): string | undefined {
  const calls = new Calls();
  const call = { type: 'tool_use' as const, id: 'c1', name: 'files__read', arguments: { path: 'a.py' } };
  const deltas: Delta[] = [
    { type: 'tool_use_start', block: 0, id: 'c1', name: 'files__read' },
    { type: 'tool_use_done', block: 0, content: call },
    ...between,
  ];
  for (const delta of deltas) {
    assert.equal(calls.add(delta), undefined);
  }
  assert.equal(calls.describe('c1'), 'files/read path=a.py');
  const content: ToolResultBlock = { type: 'tool_result', toolUseId: 'c1', ...result };
  return calls.add({ type: 'block_done', block: 1, content })?.line;
}

test('a call that has ended is described by its tool, arguments and result', () => {
  assert.equal(end({ content: 'one\ntwo\n' }), '✓ `files/read path=a.py` · 2 lines');
  assert.equal(end({ content: 'one' }), '✓ `files/read path=a.py` · one');
  assert.equal(end({ content: '' }), '✓ `files/read path=a.py` · no output');
  assert.equal(end({ content: 'No.', isError: true }), '✗ `files/read path=a.py` · failed: No\\.');
});

test('a denied call is described with the text of the denial', () => {
  const denied: Delta = { type: 'tool_status', toolUseId: 'c1', status: 'denied' };
  const line = end({ content: 'The user denied this call.', isError: true }, denied);
  assert.equal(line, '✗ `files/read path=a.py` · The user denied this call\\.');
});

test('long arguments of a call are shortened, and hidden characters are removed', () => {
  const calls = new Calls();
  const values = { text: `a\u202e\nb${'x'.repeat(100)}` };
  calls.add({ type: 'tool_use_start', block: 0, id: 'c1', name: 'shed__echo' });
  calls.add({
    type: 'tool_use_done',
    block: 0,
    content: { type: 'tool_use', id: 'c1', name: 'shed__echo', arguments: values },
  });
  assert.equal(calls.describe('c1'), `shed/echo text=a b${'x'.repeat(56)}…`);
});
