/** Our own server as the remote one: what the editor shows is the same as with the model here. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { complete } from '../../../extension/engine/completion/complete';
import type { Engine } from '../../../extension/engine/engine';
import { loadEngine } from '../../../extension/engine/load_engine';
import { EngineError } from '../../../extension/engine/errors';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { openRemote } from '../../../extension/engine/remote/remote_engine';
import type { RemoteFim } from '../../../extension/protocol/engine';
import { requestAt } from '../completion/marked';
import { type Lab, startLab, TOKEN } from '../server/lab';

let engine: Engine;
let lab: Lab;
before(async () => {
  const options = {
    modelDir: embeddedModel(),
    backend: 'auto',
    precision: 'fast',
    threads: 0,
  } as const;
  engine = await loadEngine(options);
  lab = await startLab([
    { id: 'sprout', created: 0, state: 'ready', loaded: engine, use: (task) => task(engine) },
  ]);
});
after(async () => {
  await lab.server.close();
  await engine.dispose();
});

const open = (fim: RemoteFim, apiKey = TOKEN) =>
  openRemote({ url: lab.base, model: 'sprout', apiKey, fim, contextLength: 0 }, () => {});

const REQUEST = requestAt(
  'function sum(list: number[]): number {\n  let total = 0;\n  for (const x of list) ▮\n  return total;\n}\n',
);

for (const fim of ['auto', 'infill', 'suffix'] as const) {
  test(`completion by ${fim}`, async () => {
    const remote = await open(fim);
    const { text, stop } = await remote.complete(REQUEST, {});
    // The server heals no tokens.
    const here = await complete(engine, REQUEST, { heal: false });
    assert.deepEqual({ text, stop }, { text: here.text, stop: here.stop });
    assert.deepEqual(await remote.countTokens(['const x = 1;']), [
      engine.tokenizer.encode('const x = 1;').length,
    ]);
  });
}

test('a wrong key is told as such', async () => {
  await assert.rejects(
    open('auto', 'wrong'),
    (error: unknown) => error instanceof EngineError && /HTTP 401.*API Key/.test(error.message),
  );
});
