import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Backend, KvBits, Precision } from '../backend/backend';
import { hasMetalDevice } from '../backend/metal_device';
import { selectBackend } from '../backend/select';
import { fuse } from '../core/fuse';
import { buildProgram } from '../core/models/registry';
import type { Program } from '../core/program';
import { EngineError } from '../errors';
import { openModel } from '../loading/open_model';
import { openSafetensors } from '../loading/safetensors';
import { compare, TOLERANCE, type Agreement, type GoldenPrompt } from '../verify';
import { EXIT } from './exit_codes';
import { printJson } from './load';
import type { Command } from './options';
import { print } from './terminal';

interface Row extends Agreement {
  readonly name: string;
  readonly pass: boolean;
}

export const verify: Command = {
  name: 'verify',
  usage: 'FOLDER|FILE.gguf',
  summary:
    'Compares logits and greedy tokens with the golden.safetensors in the folder of a model, on every backend; exit code 0 only when all pass.',
  options: {
    json: { type: 'boolean' },
    backend: { type: 'string', multiple: true },
    model: { type: 'string' },
  },
  help: {
    json: 'print one JSON object',
    backend: 'reference, cpu-exact, cpu, metal-exact or metal; default: all that this machine has',
    model: 'the model, instead of FOLDER',
  },
  async run(values, positionals) {
    const named = values.string('model');
    const [dir, ...rest] = named === undefined ? positionals : [named, ...positionals];
    if (dir === undefined || rest.length > 0) {
      const got = positionals.length + (named === undefined ? 0 : 1);
      throw new EngineError('bad_request', `verify takes one FOLDER or FILE.gguf, got ${got}`);
    }
    const rows = await verifyFolder(dir, values.strings('backend'));
    if (values.flag('json')) {
      printJson({
        dir,
        backends: rows.map((r) => ({
          name: r.name,
          rel_err: r.relError,
          max_abs_err: r.maxAbsError,
          cosine: r.cosine,
          greedy_equal: r.greedyEqual,
          pass: r.pass,
        })),
      });
    } else {
      for (const r of rows) print(`${dir}  ${describe(r)}\n`);
    }
    return rows.every((r) => r.pass) ? EXIT.ok : EXIT.failed;
  },
};

/** The backends in their precisions. */
export const VARIANTS = [
  { name: 'reference', backend: 'reference', precision: 'exact' },
  { name: 'cpu-exact', backend: 'cpu', precision: 'exact' },
  { name: 'cpu', backend: 'cpu', precision: 'fast' },
  { name: 'metal-exact', backend: 'metal', precision: 'exact' },
  { name: 'metal', backend: 'metal', precision: 'fast' },
] as const;

/** Compares a model with the goldens in its folder on the named variants; none named = all, on the GPU if there is one. */
export async function verifyFolder(dir: string, names: readonly string[]): Promise<Row[]> {
  const known = VARIANTS.map(({ name }) => name);
  const unknown = names.find((name) => !known.some((k) => k === name));
  if (unknown !== undefined) {
    throw new EngineError('bad_request', `--backend ${unknown}: expected ${known.join(', ')}`);
  }
  const isWanted = ({ name, backend }: (typeof VARIANTS)[number]) =>
    names.length > 0 ? names.includes(name) : backend !== 'metal' || hasMetalDevice();
  const rows: Row[] = [];
  for (const { name, backend, precision } of VARIANTS.filter(isWanted)) {
    const agreement = await agreementOf(dir, selectBackend(backend).backend, precision);
    rows.push({ name, ...agreement, pass: passes(agreement, precision) });
  }
  return rows;
}

function passes(agreement: Agreement, precision: Precision): boolean {
  return precision === 'exact'
    ? agreement.relError <= TOLERANCE.relError && agreement.greedyEqual
    : agreement.cosine >= TOLERANCE.cosine;
}

/** How well a backend's fused program, or the canonical one, agrees with the folder's goldens. */
export async function agreementOf(
  dir: string,
  backend: Backend,
  precision: Precision,
  rewrite: (program: Program) => Program = fuse,
  kvBits: KvBits = 16,
): Promise<Agreement> {
  const model = openModel(dir);
  const { weights: store } = model;
  try {
    const program = rewrite(buildProgram(model.config(), store));
    const prompts = readGolden(dir, program.vocabSize);
    const longest = Math.max(...prompts.map((p) => p.ids.length));
    const tokens = Math.max(...prompts.map((p) => p.ids.length + p.greedy.length));
    const kvBlocks = Math.ceil(tokens / backend.kvBlockSize);
    const options = {
      precision,
      kvBits,
      kvBlocks,
      maxTokens: longest,
      maxLogitRows: longest,
      threads: 0,
    };
    const executable = await backend.compile(program, store, options);
    try {
      store.assertAllUsed();
      return await compare(executable, kvBlocks, program.vocabSize, prompts);
    } finally {
      executable.dispose();
    }
  } finally {
    model.close();
  }
}

/** The prompts of golden.safetensors in a folder or beside a file: `<prompt>.ids` I32 [n], `.logits` F32 [n, vocab], `.greedy` I32 [m]. */
export function readGolden(dir: string, vocabSize: number): GoldenPrompt[] {
  const folder = statSync(dir).isDirectory() ? dir : dirname(dir);
  const file = openSafetensors(join(folder, 'golden.safetensors'));
  try {
    const names = [...file.tensors.keys()]
      .filter((n) => n.endsWith('.ids'))
      .map((n) => n.slice(0, -4));
    return names.map((name) => {
      const ids = [...file.read(`${name}.ids`).data];
      const logits = file.read(`${name}.logits`).data;
      if (!(logits instanceof Float32Array) || logits.length !== ids.length * vocabSize) {
        throw new EngineError(
          'bad_model',
          `${file.path}: ${name}.logits: got ${logits.length} values, expected F32 [${ids.length}, ${vocabSize}]`,
        );
      }
      return { ids, logits, greedy: [...file.read(`${name}.greedy`).data] };
    });
  } finally {
    file.close();
  }
}

function describe(r: Row): string {
  const greedy = r.greedyEqual ? 'greedy equal' : 'greedy differs';
  const error = `rel err ${r.relError.toExponential(1)}, max abs err ${r.maxAbsError.toExponential(1)}`;
  return `${r.name.padEnd(11)} ${r.pass ? 'pass' : 'FAIL'}  ${error}, cosine ${r.cosine.toFixed(6)}, ${greedy}`;
}
