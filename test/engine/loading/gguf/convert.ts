import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { float16ToNumber } from '../../../../extension/engine/backend/reference/formats/floats';
import type { JsonObject } from '../../../../extension/engine/loading/json_file';
import { openSafetensors } from '../../../../extension/engine/loading/safetensors';
import { FIXTURES } from '../model_fixture';
import { gguf, type Tensor, type Value } from './gguf_fixture';
import { metadataOf } from './convert_metadata';

/** What the package `gguf` calls the tensors of layer 0, by architecture: scripts/gguf-names.py. */
const NAMES = JSON.parse(readFileSync(join(FIXTURES, 'gguf-names.json'), 'utf8')) as Record<
  string,
  Record<string, string | null>
>;

/** A matrix or a stack of them, row-major. */
interface Values {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** model_type → general.architecture, where they differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  qwen3_moe: 'qwen3moe',
  gemma3_text: 'gemma3',
  gpt_oss: 'gpt-oss',
  deepseek_v2: 'deepseek2',
};

/** Architectures whose query and key rows converters put in the order of neighbouring pairs. */
const PERMUTED = ['llama', 'granite', 'smollm3'];
/** Type ids: vectors stay float32, as converters leave them. */
const [F32, BF16] = [0, 30];

/**
 * A checkpoint folder as a GGUF file, converted as llama.cpp's convert_hf_to_gguf.py does it. `extra`: further metadata,
 * such as a tokenizer.
 */
export function convert(
  folder: string,
  extra: Readonly<Record<string, Value>> = {},
  matrixType: 'BF16' | 'F32' = 'BF16',
): Buffer {
  const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as JsonObject;
  const modelType = String(config.model_type);
  const architecture = ARCHITECTURES[modelType] ?? modelType;
  const tensors: Tensor[] = [];
  const { values: rope, metadata } = metadataOf(architecture, config);
  if (rope !== null) tensors.push(vector('rope_freqs.weight', rope));
  for (const [name, values] of converted(readAll(folder), architecture, config)) {
    tensors.push(
      values.shape.length === 1
        ? vector(ggufName(architecture, name), values.data)
        : matrix(ggufName(architecture, name), values, matrixType),
    );
  }
  return gguf({ metadata: { ...metadata, ...extra }, tensors });
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
): [string, Values][] {
  const isGemma = architecture.startsWith('gemma');
  const heads = Number(config.num_attention_heads);
  const kvHeads = Number(config.num_key_value_heads ?? heads);
  return stackExperts(all, architecture).map(([name, values]) => {
    let out = values;
    if (PERMUTED.includes(architecture)) {
      if (/q_proj\.(weight|bias)$/.test(name)) out = permute(out, heads);
      if (/k_proj\.(weight|bias)$/.test(name)) out = permute(out, kvHeads);
    }
    if (isGemma && name.endsWith('norm.weight')) out = map(out, (value) => value + 1);
    const scaled = architecture === 'gemma3' ? 'q_norm.weight' : 'q_proj.weight';
    if (isGemma && name.endsWith(scaled)) out = map(out, (value) => value * queryFactor(config));
    return [name, out];
  });
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

function transpose({ shape, data }: Values): Values {
  const [experts = 1, cols = 1, rows = 1] = shape;
  const out = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const [expert, rest] = [Math.floor(i / (cols * rows)), i % (cols * rows)];
    const [row, col] = [Math.floor(rest / cols), rest % cols];
    out[i] = data[expert * cols * rows + col * rows + row] ?? 0;
  }
  return { shape: [experts, rows, cols], data: out };
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
function matrix(name: string, { shape, data }: Values, type: 'BF16' | 'F32'): Tensor {
  const bits = new Uint32Array(data.buffer);
  if (type === 'F32' || bits.some((word) => (word & 0xffff) !== 0)) {
    return { name, type: F32, shape, data: new Uint8Array(data.buffer) };
  }
  const words = Uint16Array.from(bits, (word) => word >>> 16);
  return { name, type: BF16, shape, data: new Uint8Array(words.buffer) };
}

function map({ shape, data }: Values, change: (value: number) => number): Values {
  return { shape, data: data.map(change) };
}
