import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chatPage,
  freshNonce,
  PAGE_OPTIONS,
  type PageSource,
} from '../../../extension/host/chat/html';

const source: PageSource = {
  script: 'https://file.example/chat.js',
  style: 'https://file.example/chat.css',
  cspSource: 'https://*.example',
  nonce: 'abc',
  translation: undefined,
};
const page = chatPage(source);

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
    '<script type="module" nonce="abc" src="https://file.example/chat.js"></script>',
  ]);
  assert.doesNotMatch(page, /<style|style=|\son\w+=/);
});

test('the page has the texts of the display language as data, whatever is in them', () => {
  assert.match(page, /<html lang="en">/);
  assert.match(page, /<div id="app"><\/div>/);
  const texts = { Copy: '"><script>alert(1)</script>&quot;\u2028\n' };
  const german = chatPage({ ...source, translation: { language: 'de', texts } });
  assert.match(german, /<html lang="de">/);
  assert.equal(german.match(/<script/g)?.length, 1);
  const [, attribute = ''] = /<div id="app" data-texts="([^"<>]*)"><\/div>/.exec(german) ?? [];
  const written = { '&quot;': '"', '&lt;': '<', '&gt;': '>', '&amp;': '&' };
  const read = attribute.replace(
    /&\w+;/g,
    (reference) => written[reference as keyof typeof written] ?? assert.fail(reference),
  );
  assert.deepEqual(JSON.parse(read), texts);
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
