import assert from 'node:assert/strict';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createReferenceBackend } from '../../../extension/engine/backend/reference';
import { agreementOf } from '../../../extension/engine/cli/verify';
import { openSafetensors } from '../../../extension/engine/loading/safetensors';
import {
  f32,
  FIXTURES,
  safetensors,
  temporaryFolder,
  writeFiles,
  type Entry,
} from '../loading/model_fixture';

type Tensors = Record<string, Entry>;

/** The same models as exporters other than transformers write them: other names, other axes, the same numbers. */
describe('layouts of checkpoints', () => {
  test('an image model of Hugging Face', async () => {
    const tensors = renamed(read('qwen3.5'), (name) =>
      name.replace(/^model\./, 'model.language_model.'),
    );
    await agrees('qwen3.5', { ...tensors, 'model.visual.merger.norm.weight': f32([2]) }, image);
  });

  test('an image model of MLX: norm weights with 1 added, convolutions turned', async () => {
    const tensors: Tensors = {};
    for (const [name, entry] of Object.entries(read('qwen3.5'))) {
      const isShifted = /norm\.weight$/.test(name) && !name.includes('linear_attn');
      const [channels, , taps] = entry.shape;
      if (isShifted)
        tensors[name] = f32(
          entry.shape,
          [...widened(entry)].map((v) => v + 1),
        );
      else if (name.includes('conv1d'))
        tensors[name] = { ...entry, shape: [channels ?? 0, taps ?? 0, 1] };
      else tensors[name] = entry;
    }
    const prefixed = renamed(tensors, (name) => `language_model.${name}`);
    await agrees('qwen3.5', { ...prefixed, 'vision_tower.patch.weight': f32([2]) }, image);
  });

  test('experts stacked one projection at a time', async () => {
    await agrees(
      'qwen3-moe',
      stacked(read('qwen3-moe'), (path, name) => `${path}.switch_mlp.${name}`),
    );
  });

  test('experts stacked with gate and up in one tensor', async () => {
    const every = stacked(read('qwen3.5-moe'), (path, name) => `${path}.experts.${name}`);
    const fused: Tensors = {};
    for (const [name, entry] of Object.entries(every)) {
      const [, path, projection] = /^(.*\.experts)\.(gate|up|down)_proj\.weight$/.exec(name) ?? [];
      if (path === undefined) fused[name] = entry;
      else if (projection === 'down') fused[`${path}.down_proj`] = entry;
      else if (projection === 'gate') {
        const up = every[`${path}.up_proj.weight`] ?? entry;
        fused[`${path}.gate_up_proj`] = interleave(entry, up);
      }
    }
    await agrees('qwen3.5-moe', fused);
  });

  test('longrope that stretches nothing', async () => {
    const ones = Array.from({ length: 4 }, () => 1);
    await agrees('phi3', read('phi3'), (config) => ({
      ...config,
      original_max_position_embeddings: 4096,
      rope_parameters: {
        ...(config as { rope_parameters: object }).rope_parameters,
        rope_type: 'longrope',
        short_factor: ones,
        long_factor: ones,
      },
    }));
  });

  test('gpt-oss of MLX: gate and up apart, rows as outputs', async () => {
    const tensors: Tensors = {};
    for (const [name, entry] of Object.entries(read('gpt-oss'))) {
      const [, path, projection, bias] =
        /^(.*\.experts)\.(gate_up|down)_proj(_bias)?$/.exec(name) ?? [];
      if (path === undefined) tensors[name] = entry;
      else {
        const kind = bias === undefined ? 'weight' : 'bias';
        const rows = bias === undefined ? transposed(entry) : entry;
        if (projection === 'down') tensors[`${path}.down_proj.${kind}`] = rows;
        else {
          tensors[`${path}.gate_proj.${kind}`] = everySecondRow(rows, 0);
          tensors[`${path}.up_proj.${kind}`] = everySecondRow(rows, 1);
        }
      }
    }
    await agrees('gpt-oss', tensors);
  });
});

const image = (config: object) => ({
  model_type: 'qwen3_5',
  image_token_id: 5,
  text_config: config,
  vision_config: { depth: 2 },
});

async function agrees(
  family: string,
  tensors: Tensors,
  wrap: (config: object) => object = (config) => config,
): Promise<void> {
  const source = join(FIXTURES, 'families', family);
  const config = JSON.parse(readFileSync(join(source, 'config.json'), 'utf8')) as object;
  const dir = writeFiles(temporaryFolder(), {
    'config.json': wrap(config),
    'model.safetensors': safetensors(tensors),
  });
  cpSync(join(source, 'golden.safetensors'), join(dir, 'golden.safetensors'));
  const { relError, greedyEqual } = await agreementOf(dir, createReferenceBackend(), 'exact');
  assert.ok(relError < 1e-4 && greedyEqual, `${family}: ${relError}`);
}

function read(family: string): Tensors {
  const file = openSafetensors(join(FIXTURES, 'families', family, 'model.safetensors'));
  const entries = [...file.tensors].map(([name, tensor]): [string, Entry] => {
    const { dtype, shape } = tensor;
    return [name, { dtype, shape, data: file.bytes(tensor) }];
  });
  file.close();
  return Object.fromEntries(entries);
}

function renamed(tensors: Tensors, rename: (name: string) => string): Tensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, entry]) => [rename(name), entry]));
}

/** Puts `path`.experts.N.NAME of all N into one tensor. */
function stacked(tensors: Tensors, rename: (path: string, name: string) => string): Tensors {
  const out: Tensors = {};
  for (const [name, entry] of Object.entries(tensors)) {
    const [, path, index, rest] = /^(.*)\.experts\.(\d+)\.(.*)$/.exec(name) ?? [];
    if (path === undefined || rest === undefined) out[name] = entry;
    else if (index === '0') {
      const experts: Uint8Array[] = [];
      for (let e = 0; ; e++) {
        const expert = tensors[`${path}.experts.${e}.${rest}`];
        if (expert === undefined) break;
        experts.push(expert.data);
      }
      const shape = [experts.length, ...entry.shape];
      out[rename(path, rest)] = { ...entry, shape, data: Buffer.concat(experts) };
    }
  }
  return out;
}

/** [experts, rows, cols] twice becomes [experts, 2 * rows, cols]. */
function interleave(a: Entry, b: Entry): Entry {
  const [experts = 0, rows = 0, cols = 0] = a.shape;
  const size = a.data.length / experts;
  const parts = Array.from({ length: experts }, (_, e) =>
    [a, b].map(({ data }) => data.subarray(e * size, (e + 1) * size)),
  );
  return { ...a, shape: [experts, 2 * rows, cols], data: Buffer.concat(parts.flat()) };
}

/** Swaps the last two axes of a tensor of two-byte values. */
function transposed(entry: Entry): Entry {
  const [batch = 0, rows = 0, cols = 0] = entry.shape;
  const from = halves(entry);
  const to = new Uint16Array(from.length);
  for (let i = 0; i < from.length; i++) {
    const [matrix, row, col] = [
      Math.floor(i / (rows * cols)),
      Math.floor(i / cols) % rows,
      i % cols,
    ];
    to[(matrix * cols + col) * rows + row] = from[i] ?? 0;
  }
  return { ...entry, shape: [batch, cols, rows], data: new Uint8Array(to.buffer) };
}

/** Rows (of a matrix) or elements (of a bias) `first`, `first` + 2, … */
function everySecondRow(entry: Entry, first: 0 | 1): Entry {
  const [batch = 0, rows = 0, ...rest] = entry.shape;
  const width = rest.reduce((a, b) => a * b, 1);
  const from = halves(entry);
  const kept = Array.from({ length: (batch * rows) / 2 }, (_, r) =>
    from.subarray((2 * r + first) * width, (2 * r + first + 1) * width),
  );
  const data = Buffer.concat(kept.map((k) => new Uint8Array(k.buffer, k.byteOffset, k.byteLength)));
  return { ...entry, shape: [batch, rows / 2, ...rest], data };
}

function halves({ data }: Entry): Uint16Array {
  return new Uint16Array(Uint8Array.from(data).buffer);
}

function widened(entry: Entry): Float32Array {
  return new Float32Array(Uint32Array.from(halves(entry), (bits) => bits << 16).buffer);
}
