import { badModel, quote, unsupportedModel } from './bad_model';
import { isJsonObject, type JsonObject } from './json_file';
import type { MicroscaledMode } from './weights';

/** How a module's matrix is quantized by MLX; weights.ts says what the modes mean. */
export interface QuantizedFormat {
  readonly mode: 'affine' | MicroscaledMode;
  readonly bits: number;
  readonly groupSize: number;
}

interface ModeLimits {
  readonly bits: readonly number[];
  readonly groupSizes: readonly number[];
  /** What MLX takes when the config does not say. */
  readonly defaults: { readonly bits: number; readonly groupSize: number };
}

const MODES: Readonly<Record<QuantizedFormat['mode'], ModeLimits>> = {
  affine: {
    bits: [2, 3, 4, 5, 6, 8],
    groupSizes: [32, 64, 128],
    defaults: { bits: 4, groupSize: 64 },
  },
  mxfp4: { bits: [4], groupSizes: [32], defaults: { bits: 4, groupSize: 32 } },
  mxfp8: { bits: [8], groupSizes: [32], defaults: { bits: 8, groupSize: 32 } },
  nvfp4: { bits: [4], groupSizes: [16], defaults: { bits: 4, groupSize: 16 } },
};
/** Keys of the `quantization` object that are not module paths. */
const OWN_KEYS = new Set([
  'group_size',
  'bits',
  'mode',
  'quant_method',
  'linear_class',
  'quantization_mode',
]);
/** Prefixes that converters leave on module paths and that weight names no longer have. */
const STRAY_PREFIXES = ['language_model.', 'text_model.'];

/**
 * The `quantization` object of an MLX config.json: one format for all, and exceptions by module path
 * (`"lm_head": {"bits": 8, "group_size": 64}`, or false for a module that is stored dense).
 */
export class Quantization {
  private constructor(
    /** The format of modules without an exception; null = dense. */
    readonly common: QuantizedFormat | null,
    private readonly exceptions: ReadonlyMap<string, QuantizedFormat | false>,
  ) {}

  /** `config`: the whole config.json. Throws EngineError unsupported for other quantization methods. */
  static parse(file: string, config: JsonObject): Quantization {
    const declared = config.quantization ?? config.quantization_config ?? null;
    if (declared === null) return new Quantization(null, new Map());
    if (!isJsonObject(declared)) {
      throw badModel(file, `quantization: got ${quote(declared)}, expected an object`);
    }
    const method = declared.quant_method;
    if (config.quantization === undefined && method !== undefined) {
      // OpenAI's gpt-oss, whose tensors tell which of them are coded.
      if (method === 'mxfp4') return new Quantization(null, new Map());
      throw unsupportedModel(
        file,
        `quantization method ${quote(method)}: expected one of MLX, mxfp4 or none; take an MLX or GGUF conversion`,
      );
    }
    const common = parseFormat(file, 'quantization', declared);
    const exceptions = new Map<string, QuantizedFormat | false>();
    for (const [path, value] of Object.entries(declared)) {
      if (OWN_KEYS.has(path)) continue;
      exceptions.set(stripPrefix(path), parseException(file, path, value, common));
    }
    return new Quantization(common, exceptions);
  }

  /** The format of the module at `path` (`model.layers.0.mlp.up_proj`), or null when it is dense. */
  formatOf(path: string): QuantizedFormat | null {
    const exception = this.exceptions.get(path) ?? this.exceptions.get(stripPrefix(path));
    return exception === undefined ? this.common : exception || null;
  }
}

function parseException(
  file: string,
  path: string,
  value: unknown,
  common: QuantizedFormat,
): QuantizedFormat | false {
  if (value === false) return false;
  if (value === true) return common;
  const at = `quantization: ${quote(path)}`;
  if (!isJsonObject(value))
    throw badModel(file, `${at}: got ${quote(value)}, expected an object or false`);
  return parseFormat(file, at, value);
}

function parseFormat(file: string, at: string, value: JsonObject): QuantizedFormat {
  const modes = Object.keys(MODES) as (keyof typeof MODES)[];
  const mode = member(file, `${at}: mode`, value.mode ?? 'affine', modes);
  const { bits, groupSizes, defaults } = MODES[mode];
  return {
    mode,
    bits: member(file, `${at}: bits`, value.bits ?? defaults.bits, bits),
    groupSize: member(
      file,
      `${at}: group_size`,
      value.group_size ?? defaults.groupSize,
      groupSizes,
    ),
  };
}

function member<T extends string | number>(
  file: string,
  at: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw unsupportedModel(file, `${at}: got ${quote(value)}, expected ${allowed.join(', ')}`);
}

function stripPrefix(path: string): string {
  const prefix = STRAY_PREFIXES.find((candidate) => path.startsWith(candidate));
  return prefix === undefined ? path : path.slice(prefix.length);
}
