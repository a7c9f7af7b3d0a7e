import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { float16ToNumber } from '../../../../extension/engine/backend/reference/formats/floats';
import type { JsonObject } from '../../../../extension/engine/loading/json_file';
import { openSafetensors } from '../../../../extension/engine/loading/safetensors';
import { FIXTURES } from '../model_fixture';
import { gguf, type Tensor, type Value } from './gguf_fixture';
import { hybridTensors, isHybrid } from './convert_hybrid';
import { metadataOf } from './convert_metadata';
import { type GgufForm, map, transpose, type Values } from './convert_values';

/** What the package `gguf` calls the tensors of layer 0, by architecture: scripts/gguf-names.py. */
const NAMES = JSON.parse(readFileSync(join(FIXTURES, 'gguf-names.json'), 'utf8')) as Record<
  string,
  Record<string, string | null>
>;

/** model_type → general.architecture, where they differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  qwen3_moe: 'qwen3moe',
  gemma3_text: 'gemma3',
  gpt_oss: 'gpt-oss',
  deepseek_v2: 'deepseek2',
  qwen3_next: 'qwen3next',
  qwen3_5_text: 'qwen35',
  qwen3_5_moe_text: 'qwen35moe',
};

/** Architectures whose query and key rows converters put in the order of neighbouring pairs. */
const PERMUTED = ['llama', 'granite', 'smollm3'];
/** Type ids: vectors stay float32, as converters leave them. */
const [F32, BF16] = [0, 30];

/**
 * A checkpoint folder as a GGUF file, converted as llama.cpp's convert_hf_to_gguf.py does it. `extra`: further metadata,
 * such as a tokenizer. `form`: one that converters also had, or have as an option.
 */
export function convert(
  folder: string,
  extra: Readonly<Record<string, Value>> = {},
  form: GgufForm = 'usual',
): Buffer {
  const { metadata, tensors } = convertParts(folder, form);
  return gguf({ metadata: { ...metadata, ...extra }, tensors });
}

/** What such a file consists of. */
export function convertParts(
  folder: string,
  form: GgufForm = 'usual',
): { metadata: Record<string, Value>; tensors: Tensor[] } {
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as JsonObject;
  const modelType = String(config.model_type);
  const architecture = ARCHITECTURES[modelType] ?? modelType;
  const tensors: Tensor[] = [];
  const { values: rope, metadata } = metadataOf(architecture, config, form);
  if (rope !== null) tensors.push(vector('rope_freqs.weight', rope));
  for (const [name, values] of converted(readAll(folder), architecture, config, form)) {
    tensors.push(
      values.shape.length === 1
        ? vector(ggufName(architecture, name), values.data)
        : matrix(ggufName(architecture, name), values),
    );
  }
  if (form === 'layers ahead') {
    const layer = `blk.${Number(config.num_hidden_layers)}`;
    tensors.push(vector(`${layer}.attn_norm.weight`, new Float32Array(4)));
    tensors.push(vector(`${layer}.nextn.enorm.weight`, new Float32Array(4)));
  }
  return { metadata, tensors };
}

function readAll(folder: string): Map<string, Values> {
  const file = openSafetensors(join(folder, 'model.safetensors'));
  const all = new Map<string, Values>();
  for (const [name, tensor] of file.tensors) {
    const words = new Uint16Array(file.bytes(tensor).buffer);
    const bits = Uint32Array.from(words, (word) => word << 16);
    const data =
      tensor.dtype === 'BF16'
        ? new Float32Array(bits.buffer)
        : Float32Array.from(words, float16ToNumber);
    all.set(name, { shape: tensor.shape, data });
  }
  file.close();
  return all;
}

/** The tensors as the converter writes them, by Hugging Face name. */
function converted(
  all: ReadonlyMap<string, Values>,
  architecture: string,
  config: JsonObject,
  form: GgufForm,
): [string, Values][] {
  const isGemma = architecture.startsWith('gemma');
  const heads = Number(config.num_attention_heads);
  const kvHeads = Number(config.num_key_value_heads ?? heads);
  const stacked = stackExperts(all, architecture);
  const tensors = form === 'fused experts' ? fuseExperts(stacked) : stacked;
  return tensors.flatMap(([name, values]) => {
    if (isHybrid(architecture)) return hybridTensors({ architecture, config, form }, name, values);
    if (name.endsWith('kv_b_proj.weight') && form !== 'whole latent') {
      return splitLatent(config, name, values);
    }
    let out = values;
    if (PERMUTED.includes(architecture)) {
      if (/q_proj\.(weight|bias)$/.test(name)) out = permute(out, heads);
      if (/k_proj\.(weight|bias)$/.test(name)) out = permute(out, kvHeads);
    }
    if (isGemma && name.endsWith('norm.weight')) out = map(out, (value) => value + 1);
    const scaled = architecture === 'gemma3' ? 'q_norm.weight' : 'q_proj.weight';
    if (isGemma && name.endsWith(scaled)) out = map(out, (value) => value * queryFactor(config));
    return [[name, out]];
  });
}

/** Keys as [heads, latent, columns], values as [heads, columns, latent]. */
function splitLatent(
  config: JsonObject,
  name: string,
  { shape, data }: Values,
): [string, Values][] {
  const heads = Number(config.num_attention_heads);
  const [keys, values] = [Number(config.qk_nope_head_dim), Number(config.v_head_dim)];
  const rank = shape[1] ?? 1;
  const rows = (start: number, length: number) => {
    const out = new Float32Array(heads * length * rank);
    for (let head = 0; head < heads; head++) {
      const from = (head * (keys + values) + start) * rank;
      out.set(data.subarray(from, from + length * rank), head * length * rank);
    }
    return { shape: [heads, length, rank], data: out };
  };
  return [
    [name.replace('kv_b', 'k_b'), transpose(rows(0, keys))],
    [name.replace('kv_b', 'v_b'), rows(keys, values)],
  ];
}

/** A file cannot say query_pre_attn_scalar; where it is not the width of a head, the queries are scaled. */
function queryFactor(config: JsonObject): number {
  return Math.sqrt(
    Number(config.head_dim) / Number(config.query_pre_attn_scalar ?? config.head_dim),
  );
}

/** Rows [first halves, second halves] of each head become pairs. */
function permute({ shape, data }: Values, heads: number): Values {
  const rows = shape[0] ?? 1;
  const cols = data.length / rows;
  const half = rows / heads / 2;
  const out = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / (2 * half));
    const within = row % (2 * half);
    const source = head * 2 * half + (within % 2) * half + Math.floor(within / 2);
    out.set(data.subarray(source * cols, (source + 1) * cols), row * cols);
  }
  return { shape, data: out };
}

/** Experts one by one, or gate and up side by side, become one tensor for each projection. */
function stackExperts(all: ReadonlyMap<string, Values>, architecture: string): [string, Values][] {
  const stacks = new Map<string, Values[]>();
  const rest: [string, Values][] = [];
  for (const [name, values] of all) {
    const single = /^(.*\.experts)\.(\d+)\.(\w+_proj\.weight)$/.exec(name);
    const gptOss = /^(.*\.experts)\.(gate_up_proj|down_proj)(_bias)?$/.exec(name);
    if (single !== null) {
      const stack = stacks.get(`${single[1]}.${single[3]}`) ?? [];
      stack[Number(single[2])] = values;
      stacks.set(`${single[1]}.${single[3]}`, stack);
    } else if (gptOss !== null && architecture === 'gpt-oss') {
      rest.push(
        ...gptOssExperts(gptOss[1] ?? '', gptOss[2] ?? '', gptOss[3] !== undefined, values),
      );
    } else rest.push([name, values]);
  }
  for (const [name, stack] of stacks) {
    const data = Float32Array.from(stack.flatMap((values) => [...values.data]));
    rest.push([name, { shape: [stack.length, ...(stack[0]?.shape ?? [])], data }]);
  }
  return rest;
}

/** [experts, rows, cols] of gate and up become [experts, 2 * rows, cols]. */
function fuseExperts(tensors: readonly [string, Values][]): [string, Values][] {
  const all = new Map(tensors);
  return tensors.flatMap(([name, gate]): [string, Values][] => {
    if (name.endsWith('.experts.up_proj.weight')) return [];
    const up = all.get(name.replace('gate_proj', 'up_proj'));
    if (!name.endsWith('.experts.gate_proj.weight') || up === undefined) return [[name, gate]];
    const [experts = 1, rows = 1, cols = 1] = gate.shape;
    const data = new Float32Array(2 * gate.data.length);
    for (let i = 0; i < experts; i++) {
      for (const [at, { data: from }] of [gate, up].entries()) {
        const size = rows * cols;
        data.set(from.subarray(i * size, (i + 1) * size), (2 * i + at) * size);
      }
    }
    return [
      [name.replace('gate_proj', 'gate_up_proj'), { shape: [experts, 2 * rows, cols], data }],
    ];
  });
}

/** Hugging Face keeps these transposed, with gate and up columns by turns. */
function gptOssExperts(
  path: string,
  projection: string,
  isBias: boolean,
  values: Values,
): [string, Values][] {
  const kind = isBias ? 'bias' : 'weight';
  const rows = isBias ? values : transpose(values);
  if (projection === 'down_proj') return [[`${path}.down_proj.${kind}`, rows]];
  return (['gate_proj', 'up_proj'] as const).map((name, start) => [
    `${path}.${name}.${kind}`,
    everySecondRow(rows, start, isBias),
  ]);
}

function everySecondRow({ shape, data }: Values, start: number, isVector: boolean): Values {
  const [experts = 1, rows = 1] = shape;
  const cols = isVector ? 1 : (shape[2] ?? 1);
  const half = rows / 2;
  const out = new Float32Array(data.length / 2);
  for (let i = 0; i < out.length; i++) {
    const [row, col] = [Math.floor(i / cols), i % cols];
    const [expert, within] = [Math.floor(row / half), row % half];
    out[i] = data[(expert * rows + 2 * within + start) * cols + col] ?? 0;
  }
  return { shape: isVector ? [experts, half] : [experts, half, cols], data: out };
}

function ggufName(architecture: string, name: string): string {
  const [, layer] = /\.layers\.(\d+)\./.exec(name) ?? [];
  const kind = name.endsWith('.bias') ? 'bias' : 'weight';
  const first = name.replace(/\.layers\.\d+\./, '.layers.0.').replace(/\.(weight|bias)$/, '');
  const found = NAMES[architecture]?.[first] ?? DENSE_LAYER[first];
  if (found === undefined) throw new Error(`no name for ${name} in ${architecture}`);
  if (name.endsWith('.A_log')) return found.replace('blk.0.', `blk.${layer}.`);
  return `${layer === undefined ? found : found.replace('blk.0.', `blk.${layer}.`)}.${kind}`;
}

/** Published Qwen3 mixtures have no dense layers; a checkpoint of ours has one. */
const DENSE_LAYER: Readonly<Record<string, string>> = {
  'model.layers.0.mlp.gate_proj': 'blk.0.ffn_gate',
  'model.layers.0.mlp.up_proj': 'blk.0.ffn_up',
  'model.layers.0.mlp.down_proj': 'blk.0.ffn_down',
};

function vector(name: string, values: Float32Array): Tensor {
  return { name, type: F32, shape: [values.length], data: new Uint8Array(values.buffer) };
}

/** What bfloat16 does not hold exactly stays float32. */
function matrix(name: string, { shape, data }: Values): Tensor {
  const bits = new Uint32Array(data.buffer);
  if (bits.some((word) => (word & 0xffff) !== 0)) {
    return { name, type: F32, shape, data: new Uint8Array(data.buffer) };
  }
  const words = Uint16Array.from(bits, (word) => word >>> 16);
  return { name, type: BF16, shape, data: new Uint8Array(words.buffer) };
}
