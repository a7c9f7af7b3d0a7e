import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { restoreProposedApiGates } from '../../scripts/vscode-lab/proposed-api.mjs';

/** The two functions as a bundle has them: the gate, and the check that asks it. */
const bundle = (gate: string): string =>
  `var q=1;function a$(e,t){${gate}}function b(e,t){if(!a$(e,t))throw new Error(` +
  "`Extension '${e.identifier.value}' CANNOT use API proposal: ${t}`)}";

describe('proposed APIs in the VS Code of the tests', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'anllm-gates-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are closed again to extensions that do not list them', () => {
    const file = path.join(folder, 'main.js');
    writeFileSync(file, bundle('return!0'));
    assert.equal(restoreProposedApiGates(folder), 1);
    const check = (extension: object, proposal: string): void => {
      const e = { identifier: { value: 'x.y' }, ...extension };
      runInNewContext(`${readFileSync(file, 'utf8')};b(e,t)`, { e, t: proposal });
    };
    const listed = { enabledApiProposals: ['embeddings'] };
    check(listed, 'embeddings');
    assert.throws(() => check(listed, 'chatProvider'), /CANNOT use API proposal: chatProvider/);
    assert.throws(() => check({}, 'embeddings'), /CANNOT/);
  });

  it('are an error when the bundle has another shape', () => {
    writeFileSync(path.join(folder, 'main.js'), bundle('return e.open'));
    assert.throws(() => restoreProposedApiGates(folder), /no open proposed-API gate/);
  });

  it('are an error when there is no bundle', () => {
    assert.throws(() => restoreProposedApiGates(folder), /no bundle checks proposed APIs/);
  });
});
