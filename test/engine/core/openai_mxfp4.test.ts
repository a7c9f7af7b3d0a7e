import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReferenceBackend } from '../../../extension/engine/backend/reference';
import { loadNativeBackend } from '../../../extension/engine/backend/native';
import type { Backend } from '../../../extension/engine/backend/backend';
import { fuse } from '../../../extension/engine/core/fuse';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import { openModel } from '../../../extension/engine/loading/open_model';
import {
  assertFails,
  safetensors,
  temporaryFolder,
  writeFiles,
  type Entry,
} from '../loading/model_fixture';
import { changed, load, renamed } from './changed_family';

const [EXPERTS, HIDDEN, INTERMEDIATE] = [4, 64, 128];

/** gpt-oss in the files of OpenAI, and the same numbers in those of MLX. */
function bothForms(): { openai: string; mlx: string } {
  const openai: Record<string, Entry> = {};
  const mlx: Record<string, Entry> = {};
  for (const [name, entry] of Object.entries(renamed('gpt-oss', (n) => n))) {
    const [, path, projection, bias] =
      /^(.*\.experts)\.(gate_up|down)_proj(_bias)?$/.exec(name) ?? [];
    if (path === undefined) {
      openai[name] = entry;
      mlx[name] = entry;
      continue;
    }
    const isWide = projection === 'gate_up';
    const rows = isWide ? 2 * INTERMEDIATE : HIDDEN;
    if (bias !== undefined) {
      openai[name] = entry;
      const width = entry.data.length / (EXPERTS * rows);
      for (const [part, data] of split(isWide, entry.data, width)) {
        mlx[`${path}.${part}.bias`] = {
          ...entry,
          shape: [EXPERTS, data.length / width / EXPERTS],
          data,
        };
      }
      continue;
    }
    const cols = isWide ? HIDDEN : INTERMEDIATE;
    const blocks = bytes(EXPERTS * rows * (cols / 2), (i) => (i * 37 + (i >> 3) * 11) % 256);
    const scales = bytes(EXPERTS * rows * (cols / 32), (i) => 122 + (i % 4));
    openai[`${name}_blocks`] = {
      dtype: 'U8',
      shape: [EXPERTS, rows, cols / 32, 16],
      data: blocks,
    };
    openai[`${name}_scales`] = { dtype: 'U8', shape: [EXPERTS, rows, cols / 32], data: scales };
    for (const [kind, dtype, data, width] of [
      ['weight', 'U32', blocks, cols / 2],
      ['scales', 'U8', scales, cols / 32],
    ] as const) {
      for (const [part, own] of split(isWide, data, width)) {
        const shape = [EXPERTS, own.length / width / EXPERTS, width / (dtype === 'U32' ? 4 : 1)];
        mlx[`${path}.${part}.${kind}`] = { dtype, shape, data: own };
      }
    }
  }
  const folder = (tensors: Record<string, Entry>, keys: Record<string, unknown>) =>
    writeFiles(changed('gpt-oss', keys), { 'model.safetensors': safetensors(tensors) });
  return {
    openai: folder(openai, {
      quantization_config: {
        modules_to_not_convert: ['model.layers.*.self_attn', 'model.layers.*.mlp.router'],
        quant_method: 'mxfp4',
      },
    }),
    mlx: folder(mlx, { quantization: { bits: 4, group_size: 32, mode: 'mxfp4' } }),
  };
}

/** The rows of gate and up, which alternate; or all of down. */
function split(isWide: boolean, data: Uint8Array, width: number): [string, Uint8Array][] {
  if (!isWide) return [['down_proj', data]];
  const every = (first: number) =>
    Buffer.concat(
      Array.from({ length: data.length / width / 2 }, (_, i) =>
        data.subarray((2 * i + first) * width, (2 * i + first + 1) * width),
      ),
    );
  return [
    ['gate_proj', every(0)],
    ['up_proj', every(1)],
  ];
}

function bytes(length: number, value: (i: number) => number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => value(i));
}

async function logitsOf(folder: string, backend: Backend): Promise<Float32Array> {
  const model = openModel(folder);
  const program = fuse(buildProgram(model.config(), model.weights));
  const tokens = Int32Array.of(3, 141, 59, 26);
  const executable = await backend.compile(program, model.weights, {
    precision: 'exact',
    kvBlocks: 1,
    maxTokens: 8,
    maxLogitRows: 1,
    threads: 1,
  });
  const logits = await executable.step({
    tokens,
    positions: Int32Array.from(tokens.keys()),
    offsets: Int32Array.of(0, tokens.length),
    blockTables: Int32Array.of(0),
    blocksPerSequence: 1,
    logitRows: Int32Array.of(tokens.length - 1),
  });
  const copy = logits.slice();
  executable.dispose();
  model.close();
  return copy;
}

for (const backend of [createReferenceBackend(), loadNativeBackend()]) {
  test(`gpt-oss as OpenAI ships it gives what MLX's conversion gives: ${backend.name}`, async () => {
    const { openai, mlx } = bothForms();
    load(openai);
    assert.deepEqual(await logitsOf(openai, backend), await logitsOf(mlx, backend));
  });
}

test('another quantization is refused with its name and a way on', () => {
  const fp8 = writeFiles(temporaryFolder(), {
    'config.json': { model_type: 'qwen3', quantization_config: { quant_method: 'fp8' } },
  });
  assertFails(() => load(fp8), 'unsupported', '"fp8"', 'MLX or GGUF conversion');
});
