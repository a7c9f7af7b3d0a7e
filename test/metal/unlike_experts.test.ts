/** A checkpoint whose experts are stored one by one and coded unlike: the same logits on every backend. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import type { Backend } from '../../extension/engine/backend/backend';
import { loadMetalBackend, loadNativeBackend } from '../../extension/engine/backend/native';
import { createReferenceBackend } from '../../extension/engine/backend/reference';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import { openModel } from '../../extension/engine/loading/open_model';
import { openSafetensors } from '../../extension/engine/loading/safetensors';
import {
  FIXTURES,
  safetensors,
  temporaryFolder,
  writeFiles,
  type Entry,
} from '../engine/loading/model_fixture';
import { relativeError } from '../native/harness';
import { buildSoftAddon } from './build.mjs';
import { halfBits } from './numbers';
import { skip } from './runner';

/** MLX's affine format; null: floats, as in the original. */
type Format = { readonly bits: number; readonly group_size: number } | null;

const SOURCE = join(FIXTURES, 'families', 'qwen3-moe');
const IDS = Int32Array.from({ length: 40 }, (_, i) => (i * 37 + 5) % 192);

before(async () => {
  if (skip === false) process.env.ANLLM_PREBUILD = await buildSoftAddon();
});

describe('experts that are coded unlike', { skip }, () => {
  const formats: Readonly<Record<string, readonly Format[]>> = {
    '4, 6 and 8 bits': [
      { bits: 4, group_size: 64 },
      { bits: 6, group_size: 32 },
      { bits: 8, group_size: 64 },
    ],
    '4 bits and floats': [{ bits: 4, group_size: 64 }, null],
  };
  for (const [name, ofExperts] of Object.entries(formats)) {
    test(name, async () => {
      const folder = withExperts(ofExperts);
      const expected = await logitsOf(folder, createReferenceBackend(), 'exact');
      for (const backend of [loadNativeBackend(), loadMetalBackend()]) {
        const error = relativeError(await logitsOf(folder, backend, 'exact'), expected);
        assert.ok(error <= 1e-4, `${backend.description}: ${error}`);
      }
      const fast = relativeError(await logitsOf(folder, loadMetalBackend(), 'fast'), expected);
      assert.ok(fast <= 0.05, `fast: ${fast}`);
    });
  }
});

/** The fixture with expert e in format e, by turns; nothing else is quantized. */
function withExperts(formats: readonly Format[]): string {
  const file = openSafetensors(join(SOURCE, 'model.safetensors'));
  const bytes = readFileSync(file.path);
  const tensors: Record<string, Entry> = {};
  const exceptions: Record<string, unknown> = {};
  for (const [name, { dtype, shape, offset, byteLength }] of file.tensors) {
    assert.equal(dtype, 'BF16');
    const data = new Uint8Array(bytes.subarray(offset, offset + byteLength));
    const path = name.replace(/\.weight$/, '');
    const expert = /experts\.(\d+)\./.exec(name)?.[1];
    const format = expert === undefined ? null : formats[Number(expert) % formats.length];
    exceptions[path] = format ?? false;
    if (format) Object.assign(tensors, quantized(path, bfloats(data), shape, format));
    else tensors[name] = { dtype, shape, data };
  }
  file.close();
  const folder = temporaryFolder();
  const config = JSON.parse(readFileSync(join(SOURCE, 'config.json'), 'utf8')) as object;
  writeFiles(folder, {
    'config.json': { ...config, quantization: { bits: 4, group_size: 64, ...exceptions } },
    'model.safetensors': safetensors(tensors),
  });
  return folder;
}

const bfloats = ({ buffer }: Uint8Array) =>
  new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits << 16).buffer);

/** Codes of a matrix one after the other, and binary16 scales and biases. */
function quantized(
  path: string,
  values: Float32Array,
  shape: readonly number[],
  { bits, group_size: size }: NonNullable<Format>,
): Record<string, Entry> {
  const [rows = 0, cols = 0] = shape;
  const codes = new Uint8Array((values.length * bits) / 8);
  const scales = new Uint16Array(values.length / size);
  const biases = new Uint16Array(scales.length);
  for (const group of scales.keys()) {
    const own = values.subarray(group * size, (group + 1) * size);
    const [low, high] = [Math.min(...own), Math.max(...own)];
    const scale = (high - low) / (2 ** bits - 1);
    scales[group] = halfBits(scale);
    biases[group] = halfBits(low);
    for (const [i, x] of own.entries()) {
      const code = Math.round((x - low) / scale);
      for (let b = 0; b < bits; b++) {
        const at = (group * size + i) * bits + b;
        codes[at >> 3] = (codes[at >> 3] ?? 0) | (((code >> b) & 1) << (at & 7));
      }
    }
  }
  const halves = (data: Uint16Array): Entry => ({
    dtype: 'F16',
    shape: [rows, cols / size],
    data: new Uint8Array(data.buffer),
  });
  return {
    [`${path}.weight`]: { dtype: 'U32', shape: [rows, (cols * bits) / 32], data: codes },
    [`${path}.scales`]: halves(scales),
    [`${path}.biases`]: halves(biases),
  };
}

async function logitsOf(folder: string, backend: Backend, precision: 'exact' | 'fast') {
  const model = openModel(folder);
  const kvBlocks = Math.ceil(IDS.length / backend.kvBlockSize);
  const executable = await backend.compile(
    fuse(buildProgram(model.config(), model.weights)),
    model.weights,
    { precision, kvBlocks, maxTokens: IDS.length, maxLogitRows: IDS.length, threads: 2 },
  );
  const rows = Int32Array.from(IDS.keys());
  const logits = await executable.step({
    tokens: IDS,
    positions: rows,
    offsets: Int32Array.of(0, IDS.length),
    blockTables: Int32Array.from({ length: kvBlocks }, (_, i) => i),
    blocksPerSequence: kvBlocks,
    logitRows: rows,
  });
  executable.dispose();
  model.close();
  return logits;
}
