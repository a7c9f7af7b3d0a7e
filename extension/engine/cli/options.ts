import { parseArgs, type ParseArgsConfig } from 'node:util';
import { EngineError } from '../errors';

export type OptionSpecs = NonNullable<ParseArgsConfig['options']>;
export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** One subcommand: how it is called, and what it does. Returns the exit code. */
export interface Command {
  readonly name: string;
  /** Positional arguments as shown in the help, e.g. `"TEXT"`. */
  readonly usage: string;
  readonly summary: string;
  readonly options: OptionSpecs;
  /** One line for each option, in the order of the help. */
  readonly help: Readonly<Record<string, string>>;
  run(values: OptionReader, positionals: readonly string[]): Promise<number>;
}

export const ENGINE_OPTIONS: OptionSpecs = {
  model: { type: 'string' },
  backend: { type: 'string' },
  precision: { type: 'string' },
  threads: { type: 'string' },
  context: { type: 'string' },
  'max-seq-len': { type: 'string' },
  'batch-size': { type: 'string' },
  'prefill-step': { type: 'string' },
  'kv-bits': { type: 'string' },
  'draft-model': { type: 'string' },
  'session-cache': { type: 'string' },
  kernels: { type: 'string' },
  'decode-attention-kernel': { type: 'string' },
  'force-dequantized': { type: 'boolean' },
  json: { type: 'boolean' },
};

export const ENGINE_HELP: Readonly<Record<string, string>> = {
  model: 'FOLDER, FILE.gguf, or a name that anllm models prints; default: the built-in model',
  backend: 'auto | cpu | reference | metal; default auto',
  precision: 'fast | exact; default fast',
  threads: 'compute threads; default: one a physical core',
  context: 'tokens of context; default: what the model has, at most 8192',
  'max-seq-len': 'the same as --context',
  'batch-size': 'answers that are written in one step, 1 to 64; default 8',
  'prefill-step': 'most tokens in one step; default 256 on a CPU; fewer answer others sooner',
  'draft-model':
    'a small model with the same tokens, which guesses ahead; answers stay the same; default: none',
  'kv-bits': '8 | 16: of keys and values; 8 takes half the memory; default 16',
  'session-cache':
    'MB on disk for the keys and values of long conversations, for after a restart; default 0, off',
  kernels: 'on | off; off = the slow reference backend; default on',
  'decode-attention-kernel':
    'on | off: threads, or the GPU, share the keys of one token; default on',
  'force-dequantized': 'decode quantized weights to float32 at load: much memory, no rounding',
  json: 'print one JSON object',
};

/** Typed access to parsed options; wrong values end in a bad_request that names the option. */
export class OptionReader {
  constructor(private readonly values: OptionValues) {}

  flag(name: string): boolean {
    return this.values[name] === true;
  }

  string(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === 'string' ? value : undefined;
  }

  strings(name: string): string[] {
    const value = this.values[name];
    return Array.isArray(value) ? value.filter((v) => typeof v === 'string') : [];
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
    const value = this.string(name);
    if (value === undefined) return otherwise;
    const found = allowed.find((a) => a === value);
    if (found === undefined) throw badOption(name, value, allowed.join(', '));
    return found;
  }

  /** `on` or `off`; default on. */
  isOn(name: string): boolean {
    return this.oneOf(name, ['on', 'off'], 'on') === 'on';
  }

  integer(name: string, otherwise: number, range: { min: number; max: number }): number {
    return this.number(name, otherwise, range, Number.isSafeInteger, 'a whole number');
  }

  number(
    name: string,
    otherwise: number,
    { min, max }: { min: number; max: number },
    accepts: (x: number) => boolean = Number.isFinite,
    kind = 'a number',
  ): number {
    const value = this.string(name);
    if (value === undefined) return otherwise;
    const x = value.trim() === '' ? NaN : Number(value);
    if (!accepts(x) || x < min || x > max)
      throw badOption(name, value, `${kind} from ${min} to ${max}`);
    return x;
  }
}

function badOption(name: string, value: string, expected: string): EngineError {
  return new EngineError('bad_request', `--${name} ${value}: expected ${expected}`);
}

/** Parses a command's own arguments. Unknown options and missing values are a bad_request. */
export function parseCommand(
  command: Command,
  args: string[],
): { values: OptionReader; positionals: string[] } {
  try {
    const options: OptionSpecs = { ...command.options, help: { type: 'boolean', short: 'h' } };
    const { values, positionals } = parseArgs({
      args,
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values: new OptionReader(values), positionals };
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new EngineError('bad_request', `${message}; see anllm ${command.name} --help`);
  }
}

/** The help text of one command. */
export function commandHelp(command: Command): string {
  const rows = Object.entries(command.options).map(([name, { type }]) => {
    const option = `  --${name}${type === 'boolean' ? '' : ' VALUE'}`;
    return [option, command.help[name] ?? ''] as const;
  });
  const width = Math.max(...rows.map(([option]) => option.length)) + 2;
  return [
    `anllm ${command.name} ${command.usage}`.trimEnd(),
    '',
    command.summary,
    '',
    ...rows.map(([option, help]) => option.padEnd(width) + help),
  ].join('\n');
}
