import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { verifyFolder } from '../../../../extension/engine/cli/verify';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { ARCHITECTURES } from '../../../../extension/engine/loading/gguf/architectures';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { FIXTURES, temporaryFolder } from '../model_fixture';
import { convert } from './convert';
import type { GgufForm } from './convert_values';
import { deeper } from './deeper';
import { convertedTo, GGUF_FAMILIES, GGUF_SHARED } from './families';
import { u32 } from './gguf_fixture';

const SHARED = resolve(__dirname, '../../../../../shared/conformance');

/** Checkpoints whose logits transformers computed, converted to GGUF as llama.cpp's converter does it. */
async function agrees(checkpoint: string, form?: GgufForm): Promise<void> {
  for (const row of await verifyFolder(convertedTo(temporaryFolder(), checkpoint, form), [])) {
    const { name: backend, relError, cosine } = row;
    assert.ok(row.pass, `${checkpoint}, ${backend}: relative error ${relError}, cosine ${cosine}`);
    if (backend === 'reference') assert.ok(relError <= 1e-4, `${checkpoint}: ${relError}`);
  }
}

describe('logits and greedy tokens from a GGUF file', () => {
  for (const name of GGUF_FAMILIES) test(name, () => agrees(join(FIXTURES, 'families', name)));

  const forms = [
    ['deepseek-v2', 'whole latent'],
    ['qwen3-next', 'whole inputs'],
    ['qwen3.5-moe', 'fused experts'],
    ['qwen3.5', 'layers ahead'],
  ] as const;
  for (const [name, form] of forms) {
    test(`${name} with ${form}`, () => agrees(join(FIXTURES, 'families', name), form));
  }

  // No key of a file says which layers have no rotary embedding: it is every fourth one.
  test('smollm3, with the layers of its folder', async () => {
    const every = { no_rope_layers: null, layer_types: null };
    await agrees(await deeper(temporaryFolder(), join(FIXTURES, 'families/smollm3'), every));
  });

  const skip = existsSync(SHARED) ? false : 'they are not there; the fixtures above cover the same';
  test('the larger checkpoints of ../shared/conformance', { skip }, async () => {
    for (const name of GGUF_SHARED) await agrees(join(SHARED, name));
  });
});

test('a model that is made for embeddings says how', () => {
  const path = join(temporaryFolder(), 'model.gguf');
  const lastToken = { 'qwen3.pooling_type': u32(3) };
  writeFileSync(path, convert(join(FIXTURES, 'families/qwen3-yarn'), lastToken));
  const model = openModel(path);
  assert.equal(model.pooling(), 'last');
  buildProgram(model.config(), model.weights);
  model.weights.close();
});

test('every architecture but SmolLM3 is among the cases', () => {
  const covered = GGUF_FAMILIES.map((name) => {
    const model = openModel(convertedTo(temporaryFolder(), join(FIXTURES, 'families', name)));
    model.close();
    return model.config().modelType;
  });
  const missing = Object.entries(ARCHITECTURES).filter(
    ([, { modelType }]) => !covered.includes(modelType),
  );
  assert.deepEqual(
    missing.map(([name]) => name),
    ['smollm3'],
  );
});
