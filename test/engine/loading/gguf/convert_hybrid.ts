import type { JsonObject } from '../../../../extension/engine/loading/json_file';
import { type GgufForm, map, type Values } from './convert_values';

const HYBRIDS = ['qwen3next', 'qwen35', 'qwen35moe'];

export function isHybrid(architecture: string): boolean {
  return HYBRIDS.includes(architecture);
}

/** What the converter makes of one tensor of a Gated DeltaNet hybrid, by Hugging Face name. */
export function hybridTensors(
  model: { architecture: string; config: JsonObject; form: GgufForm },
  name: string,
  values: Values,
): [string, Values][] {
  const { architecture, config, form } = model;
  if (name.endsWith('.in_proj_qkvz.weight') && form !== 'whole inputs') {
    return splitProjection(config, name, values);
  }
  const ordered = architecture === 'qwen3next' ? values : tiled(config, name, values);
  if (name.endsWith('.A_log')) return [[name, map(ordered, (value) => -Math.exp(value))]];
  if (name.endsWith('.dt_bias')) return [[name.replace('.dt_bias', '.dt_proj.bias'), ordered]];
  if (name.endsWith('.conv1d.weight')) return [[name, squeezed(ordered)]];
  if (name.endsWith('.shared_expert_gate.weight') && architecture === 'qwen35moe') {
    return [[name, squeezed(ordered)]]; // what is left after llama.cpp has written a file again
  }
  const isPlain = !name.endsWith('norm.weight') || name.endsWith('linear_attn.norm.weight');
  return [[name, isPlain ? ordered : map(ordered, (value) => value + 1)]];
}

function sizes(config: JsonObject) {
  const number = (key: string) => Number(config[key]);
  const keyHeads = number('linear_num_key_heads');
  return {
    keyHeads,
    perKeyHead: number('linear_num_value_heads') / keyHeads,
    keyDim: number('linear_key_head_dim'),
    valueDim: number('linear_value_head_dim'),
  };
}

function squeezed({ shape, data }: Values): Values {
  return { shape: shape.filter((size) => size > 1), data };
}

/** Rows [q, k, v, z] of one key head after the other become all q, all k, all v; and all z. */
function splitProjection(config: JsonObject, name: string, values: Values): [string, Values][] {
  const { keyHeads, perKeyHead, keyDim, valueDim } = sizes(config);
  const width = perKeyHead * valueDim;
  const rows = (start: number, length: number) =>
    Array.from({ length: keyHeads * length }, (_, i) => {
      const head = Math.floor(i / length);
      return head * 2 * (keyDim + width) + start + (i % length);
    });
  const qkv = [...rows(0, keyDim), ...rows(keyDim, keyDim), ...rows(2 * keyDim, width)];
  return [
    [name.replace('qkvz', 'qkv'), pickRows(values, qkv)],
    [name.replace('qkvz', 'z'), pickRows(values, rows(2 * keyDim + width, width))],
  ];
}

/** Value heads by key head (0a 0b 1a 1b) become tiles over the key heads (0a 1a 0b 1b). */
function tiled(config: JsonObject, name: string, values: Values): Values {
  const { keyHeads, perKeyHead, keyDim, valueDim } = sizes(config);
  const heads = Array.from(
    { length: keyHeads * perKeyHead },
    (_, i) => (i % keyHeads) * perKeyHead + Math.floor(i / keyHeads),
  );
  const inHeads = (width: number) =>
    heads.flatMap((head) => Array.from({ length: width }, (_, i) => head * width + i));
  const before = Array.from({ length: 2 * keyHeads * keyDim }, (_, i) => i);
  const afterKeys = [...before, ...inHeads(valueDim).map((row) => row + before.length)];
  if (/\.(in_proj_qkv|conv1d)\.weight$/.test(name)) return pickRows(values, afterKeys);
  if (name.endsWith('.in_proj_z.weight')) return pickRows(values, inHeads(valueDim));
  if (/\.(in_proj_[ab]\.weight|A_log|dt_bias)$/.test(name)) return pickRows(values, heads);
  if (name.endsWith('.linear_attn.out_proj.weight')) return pickCols(values, inHeads(valueDim));
  return values;
}

function pickRows({ shape, data }: Values, rows: readonly number[]): Values {
  const width = data.length / (shape[0] ?? 1);
  const out = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) {
    out.set(data.subarray(row * width, (row + 1) * width), i * width);
  }
  return { shape: [rows.length, ...shape.slice(1)], data: out };
}

function pickCols({ shape, data }: Values, cols: readonly number[]): Values {
  const width = cols.length;
  const at = (i: number) => Math.floor(i / width) * width + (cols[i % width] ?? 0);
  return { shape, data: data.map((_, i) => data[at(i)] ?? 0) };
}
