import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkImports, checkTree } from '../../scripts/check/import-rules.mjs';

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

test('the project keeps to the arrows of its design', () => {
  assert.deepEqual(checkTree(), []);
});
