import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DaemonError } from '../../src/daemon/errors';
import type { Provider } from '../../src/daemon/protocol';
import { findActions, describeLoss, asMarkdown, useProviders } from '../../src/ui/common/problems';
import { directoryBlock, imageType, questionBlocks } from '../../src/ui/input/contexts';
import { parsePromptCall, formatPromptList } from '../../src/ui/input/prompts';
import {
  bodyOf,
  conversationIdIn,
  endOfText,
  frontMatterLength,
  headingsIn,
  looksLikeTranscript,
  onlyText,
} from '../../src/ui/transcripts/text';

test('a question that starts with /NAME is a call of that prompt', () => {
  assert.deepEqual(parsePromptCall('/review x = 1\ny = 2'), { name: 'review', input: 'x = 1\ny = 2' });
  assert.deepEqual(parsePromptCall(' /fix-it.2\nall'), { name: 'fix-it.2', input: 'all' });
  assert.deepEqual(parsePromptCall('/commit'), { name: 'commit', input: '' });
});

test('a path or a slash in a question is not a prompt', () => {
  assert.equal(parsePromptCall('/etc/hosts is what?'), undefined);
  assert.equal(parsePromptCall('What is /review?'), undefined);
  assert.equal(parsePromptCall('/'), undefined);
});

test('the list of prompts has their descriptions', () => {
  const text = formatPromptList([{ name: 'review', description: 'Review a diff', usesInput: true }]);
  assert.match(text, /- `\/review` Review a diff/);
  assert.match(formatPromptList([]), /\[prompts\.NAME\]/);
});

test('an authentication error offers the sign-in of its provider', () => {
  const error = new DaemonError(1000, 'No.', {
    kind: 'authentication',
    retryable: false,
    provider: 'copilot',
  });
  assert.deepEqual(findActions(error)[0], {
    title: 'Sign In',
    command: 'jumpseat.signIn',
    arguments: ['copilot'],
  });
});

test('an authentication error offers to set the key of a provider with an API key', () => {
  const error = new DaemonError(1000, 'No.', { kind: 'authentication', retryable: false, provider: 'groq' });
  useProviders(() => [{ id: 'groq', authMethod: 'api_key' } as Provider]);
  try {
    assert.deepEqual(
      findActions(error).map((each) => each.title),
      ['Set API Key', 'Select Model'],
    );
  } finally {
    useProviders(() => []);
  }
});

test('the loss of a provider without a sign-in is not called a sign-out', () => {
  const loss = (provider: string): [string, ...string[]] => {
    const { text, actions } = describeLoss({ provider, state: 'signed_out', message: 'Do this.' });
    return [text, ...actions.map((each) => each.title)];
  };
  useProviders(() => [
    { id: 'small', kind: 'local', authMethod: 'none' } as Provider,
    { id: 'groq', kind: 'openai', authMethod: 'api_key' } as Provider,
    { id: 'copilot', kind: 'copilot', authMethod: 'device_code' } as Provider,
  ]);
  try {
    assert.deepEqual(loss('small'), ['small is no longer ready. Do this.', 'Install Local Model']);
    assert.deepEqual(loss('groq'), ['groq is no longer ready. Do this.', 'Set API Key']);
    assert.deepEqual(loss('copilot'), ['You are signed out of copilot. Do this.', 'Sign In']);
    const missing = { kind: 'config', retryable: false, provider: 'small' };
    assert.deepEqual(
      findActions(new DaemonError(1010, 'It is not installed.', missing)).map((each) => each.title),
      ['Install Local Model', 'Select Model'],
    );
  } finally {
    useProviders(() => []);
  }
});

test('a rejected request offers other models, and a dead daemon offers a restart', () => {
  const first = (code: number, provider?: string): string | undefined => {
    const data = { kind: '', retryable: false, ...(provider !== undefined && { provider }) };
    return findActions(new DaemonError(code, 'No.', data))[0]?.command;
  };
  assert.equal(first(1004, 'fake'), 'jumpseat.selectModel');
  assert.equal(first(1004), undefined);
  assert.equal(first(1008), 'jumpseat.restart');
  assert.equal(first(-32603), 'jumpseat.showLog');
});

test('an error is shown with its hint', () => {
  const data = { kind: 'request', retryable: false, hint: 'Use another one.' };
  assert.equal(
    asMarkdown(new DaemonError(1004, 'No such model.', data)),
    'No such model.\n\nUse another one.',
  );
  assert.equal(asMarkdown(new DaemonError(1004, 'No such model.')), 'No such model.');
});

test('an attachment that occurs twice is sent once, before the text', () => {
  const block = { type: 'context' as const, text: 'x', uri: 'file:///a' };
  assert.deepEqual(questionBlocks([block, { ...block }], 'Why?'), [block, { type: 'text', text: 'Why?' }]);
});

test('a directory is sent as the list of names in it', () => {
  const entries = [
    { name: 'b.py', isDirectory: false },
    { name: 'z', isDirectory: true },
    { name: 'a.py', isDirectory: false },
  ];
  assert.equal(directoryBlock('file:///d', entries).text, 'z/\na.py\nb.py\n');
});

test('an image is recognized by the extension of its name', () => {
  assert.equal(imageType('/a/b.PNG'), 'image/png');
  assert.equal(imageType('/a/png'), undefined);
  assert.equal(imageType('/a/b.ts'), undefined);
});

test('the front matter ends at its second line of dashes', () => {
  const text = '---\nmodel: fake:m\n---\n\n## Me\n\n---\n';
  assert.equal(text.slice(0, frontMatterLength(text)), '---\nmodel: fake:m\n---\n');
  assert.equal(frontMatterLength('---\r\nmodel: m\r\n---\r\n## Me'), 20);
  assert.equal(frontMatterLength('## Me\n---\n'), 0);
  assert.equal(frontMatterLength('---\nno end\n'), 0);
});

test('the body of a rendered transcript is what is below the front matter', () => {
  assert.equal(bodyOf('---\nmodel: m\n---\n\n## Me\n\nHi\n'), '## Me\n\nHi');
});

test('the headings are those that the daemon writes', () => {
  assert.deepEqual(headingsIn('## Ich\n\n-\n\n## KI\n\n-\n'), { user: '## Ich', assistant: '## KI' });
});

test('a transcript is recognized by its front matter and its first heading', () => {
  const known = (text: string): boolean => looksLikeTranscript(text, new Set(['## Me', '## Assistant']));
  assert.equal(known('---\nconversation: 2026\n---\n## Ich\n'), true);
  assert.equal(known('---\nmodel:\n---\n\n## Me\n\nHi'), true);
  assert.equal(known('---\r\nsystem: Be brief.\r\n---\r\n## Assistant \r\n'), true);
  assert.equal(known('---\nmodel: m\n---\n# Notes\n'), false);
  assert.equal(known('## Me\n\nA gardener.\n'), false);
  assert.equal(known('---\ntitle: CV\nbase_model: m\n---\n\n## Me\n'), false);
  assert.equal(known('# Notes\n\nconversation: none\n'), false);
  assert.equal(known('---\ntitle: x\n---\n# Notes\n'), false);
  assert.equal(known('## Ich\n'), false);
  assert.equal(looksLikeTranscript('---\nmodel:\n---\n## Ich\n', new Set(['## Ich'])), true);
});

test('the conversation of a transcript is the one in its front matter', () => {
  assert.equal(conversationIdIn('---\nmodel: m\nconversation: 2026-a.b\n---\n'), '2026-a.b');
  assert.equal(conversationIdIn("---\r\nconversation: '2026'\r\n---\r\n"), '2026');
  assert.equal(conversationIdIn('## Me\n\nconversation: 2026\n'), undefined);
});

test('an answer replaces the blank lines at the end of the question', () => {
  assert.deepEqual(endOfText('## Me\n\nHi\n\n  '), { start: 9, end: 13 });
});

test('only a question that consists of a single text can call a prompt', () => {
  assert.equal(onlyText([{ type: 'text', text: '/a' }]), '/a');
  assert.equal(onlyText('/a'), '/a');
  assert.equal(
    onlyText([
      { type: 'context', text: 'x' },
      { type: 'text', text: '/a' },
    ]),
    undefined,
  );
});
