import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkCircles, checkImports, checkTree } from '../../scripts/check/import-rules.mjs';

const table: readonly { from: string; imports: string; isAllowed: boolean }[] = [
  { from: 'extension/host/main.ts', imports: 'vscode', isAllowed: true },
  { from: 'extension/host/chat/view.ts', imports: '../../protocol/chat', isAllowed: true },
  { from: 'extension/host/main.ts', imports: '../engine/errors', isAllowed: false },
  { from: 'extension/protocol/chat.ts', imports: 'vscode', isAllowed: false },
  { from: 'extension/protocol/chat.ts', imports: '../host/main', isAllowed: false },
  { from: 'extension/protocol/chat.ts', imports: '../engine/errors', isAllowed: false },
  { from: 'extension/engine/main.ts', imports: 'vscode', isAllowed: false },
  { from: 'extension/engine/main.ts', imports: './server/http', isAllowed: true },
  { from: 'extension/engine/server/http.ts', imports: '../generation/types', isAllowed: true },
  { from: 'extension/engine/generation/types.ts', imports: '../server/http', isAllowed: false },
  { from: 'extension/engine/generation/types.ts', imports: '../../protocol/x', isAllowed: false },
  { from: 'extension/engine/core/layers/norm.ts', imports: '../program', isAllowed: true },
  { from: 'extension/engine/core/fuse.ts', imports: '../generation/types', isAllowed: false },
  { from: 'extension/engine/backend/backend.ts', imports: '../core/program', isAllowed: true },
  { from: 'extension/engine/backend/backend.ts', imports: '../core/fuse', isAllowed: false },
  { from: 'extension/engine/loading/weights.ts', imports: '../core/program', isAllowed: false },
  { from: 'extension/engine/loading/weights.ts', imports: '../errors', isAllowed: true },
  { from: 'extension/engine/loading/weights.ts', imports: 'fs', isAllowed: false },
  { from: 'extension/engine/loading/weights.ts', imports: 'node:fs', isAllowed: true },
  { from: 'extension/engine/newcomer/x.ts', imports: 'node:fs', isAllowed: false },
];

for (const { from, imports, isAllowed } of table) {
  test(`${from} ${isAllowed ? 'may' : 'may not'} import ${imports}`, () => {
    const findings = checkImports(from, `import type { X } from '${imports}';`);
    assert.equal(findings.length === 0, isAllowed, findings.join('\n'));
  });
}

test('re-exports, import() and require() count as imports', () => {
  const texts = [
    `export * from '../engine/errors';`,
    `const x = await import('../engine/errors');`,
    `const x = require('../engine/errors');`,
  ];
  for (const text of texts) {
    assert.equal(checkImports('extension/host/main.ts', text).length, 1, text);
  }
});

test('files that import each other are found, through others and by type alone too', () => {
  const texts = new Map([
    ['extension/a/one.ts', `import { two } from './two';`],
    ['extension/a/two.ts', `import type { Three } from '../b/three';\nimport './leaf';`],
    ['extension/b/three.ts', `export const x = import('../a/one');\nimport '../a/leaf';`],
    ['extension/a/leaf.ts', ''],
  ]);
  const [a, b, c] = texts.keys();
  assert.deepEqual(checkCircles(texts), [[a, b, c, a].join(' imports ') + ': a circle']);
  texts.set('extension/b/three.ts', '');
  assert.deepEqual(checkCircles(texts), []);
});

test('the project keeps to the arrows of its design', () => {
  assert.deepEqual(checkTree(), []);
});
