import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EngineOptions } from '../../../../extension/engine/engine_options';
import { loadEngine } from '../../../../extension/engine/load_engine';
import { assertSameTokens } from '../../../../extension/engine/generation/speculate/open_draft_model';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { SPROUT } from '../../loading/model_fixture';
import { toyTokenizer } from '../scheduler/toy_model';

describe('a draft model needs the tokens of the model', () => {
  test('fewer or more ids at the end are no difference', () => {
    assertSameTokens('small', toyTokenizer, { ...toyTokenizer, vocabSize: 40 });
    assertSameTokens('small', toyTokenizer, toyTokenizer);
  });

  for (const [name, other] of Object.entries({
    'other bytes': { tokenBytes: (id: number) => toyTokenizer.tokenBytes(id === 5 ? 6 : id) },
    'a control token': { isSpecial: (id: number) => id === 5 || toyTokenizer.isSpecial(id) },
  })) {
    test(`${name} are refused with the id`, () => {
      assert.throws(() => assertSameTokens('small', toyTokenizer, { ...toyTokenizer, ...other }), {
        code: 'bad_request',
        message: /draft model small: its token 5 is .* same family/,
      });
    });
  }
});

test('sprout as its own draft model: the same answers, greedy, sampled and together', async () => {
  const answers = async (extra: Partial<EngineOptions>) => {
    const engine = await loadEngine({
      modelDir: SPROUT,
      backend: 'cpu',
      precision: 'fast',
      threads: 2,
      contextLength: 512,
      ...extra,
    });
    const prompts = ['def add(a, b):\n', 'class Stack:\n    def push', 'for (let i = 0; i < '];
    const all = prompts.flatMap((prompt) => {
      const ids = engine.tokenizer.encode(prompt);
      const usual = { ids, maxTokens: 32, stop: [], ignoreEos: true, priority: 'chat' } as const;
      const sampling = { ...GREEDY, temperature: 0.9, topP: 0.9, seed: ids.length };
      return [
        engine.generate({ ...usual, sampling: GREEDY }),
        engine.generate({ ...usual, sampling }),
      ];
    });
    const results = await Promise.all(all);
    engine.checkIntegrity();
    await engine.dispose();
    return results.map(({ ids }) => ids);
  };
  const alone = await answers({});
  assert.deepEqual(await answers({ draftModelDir: SPROUT }), alone);
  await assert.rejects(answers({ draftModelDir: '/nowhere' }), { code: 'bad_model' });
});
