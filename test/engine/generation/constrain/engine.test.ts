import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Engine } from '../../../../extension/engine/engine';
import { loadEngine } from '../../../../extension/engine/load_engine';
import type { Grammar } from '../../../../extension/engine/generation/constrain/constraint';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { embeddedModel } from '../../../../extension/engine/loading/model_dir';

const PERSON: Grammar = {
  type: 'json_schema',
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 12 },
      age: { type: 'integer', minimum: 0, maximum: 120 },
      role: { enum: ['admin', 'user'] },
    },
    required: ['name', 'age', 'role'],
    additionalProperties: false,
  },
};

describe('constrained answers of the built-in model', () => {
  let engine: Engine;
  before(async () => {
    const options = {
      modelDir: embeddedModel(),
      backend: 'auto',
      precision: 'fast',
      threads: 0,
    } as const;
    engine = await loadEngine(options);
  });
  after(() => engine.dispose());

  const ask = (text: string, grammar: Grammar, seed = 0) =>
    engine.generate({
      ids: engine.tokenizer.encode(text),
      maxTokens: 120,
      sampling: { ...GREEDY, temperature: 1, seed },
      stop: [],
      grammar,
    });

  test('several at once, sampled, are all what was asked for, and the same as alone', async () => {
    const seeds = [1, 2, 3, 4, 5, 6];
    const together = await Promise.all(seeds.map((seed) => ask('const user = ', PERSON, seed)));
    for (const [i, { text, finishReason }] of together.entries()) {
      assert.equal(finishReason, 'stop', text);
      const { name, age, role } = JSON.parse(text) as Record<string, unknown>;
      assert.ok(typeof name === 'string' && name.length <= 12);
      assert.ok(Number.isInteger(age) && (role === 'admin' || role === 'user'));
      assert.equal((await ask('const user = ', PERSON, seeds[i])).text, text);
    }
  });

  test('a choice ends by itself; a free answer beside it stays free', async () => {
    const choice: Grammar = { type: 'choice', choices: ['let', 'const'] };
    const free = { ids: engine.tokenizer.encode('x = '), maxTokens: 8, sampling: GREEDY, stop: [] };
    const [alone] = [await engine.generate(free)];
    const [chosen, beside] = await Promise.all([
      ask('let x = 1;\n', choice),
      engine.generate(free),
    ]);
    assert.ok(['let', 'const'].includes(chosen.text), chosen.text);
    assert.equal(beside.text, alone.text);
  });

  test('a wrong grammar is an error before anything runs', async () => {
    await assert.rejects(ask('x', { type: 'regex', pattern: '(' }), { code: 'bad_request' });
  });
});
