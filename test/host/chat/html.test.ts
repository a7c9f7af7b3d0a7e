import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatPage, freshNonce, PAGE_OPTIONS } from '../../../extension/host/chat/html';

const page = chatPage({
  script: 'https://file.example/chat.js',
  style: 'https://file.example/chat.css',
  cspSource: 'https://*.example',
  nonce: 'abc',
});

test('the policy of the page allows its own files and nothing else', () => {
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1];
  assert.equal(
    policy,
    "default-src 'none'; script-src 'nonce-abc'; style-src https://*.example; font-src https://*.example; " +
      "img-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-src 'none'",
  );
});

test('the page has one script, with the nonce, and no code or style in it', () => {
  assert.deepEqual(page.match(/<script[^]*?<\/script>/g), [
    '<script nonce="abc" src="https://file.example/chat.js"></script>',
  ]);
  assert.doesNotMatch(page, /<style|style=|\son\w+=/);
});

test('the page runs its script, and sends no forms and no commands', () => {
  assert.deepEqual(PAGE_OPTIONS, {
    enableScripts: true,
    enableForms: false,
    enableCommandUris: false,
  });
});

test('no two pages have the same nonce, and none can be guessed', () => {
  const nonces = new Set(Array.from({ length: 100 }, freshNonce));
  assert.equal(nonces.size, 100);
  for (const nonce of nonces) assert.match(nonce, /^[0-9a-f]{32}$/);
});
