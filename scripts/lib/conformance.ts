import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend, Precision } from '../../extension/engine/backend/backend';
import { selectBackend } from '../../extension/engine/backend/select';
import { agreementOf, VARIANTS } from '../../extension/engine/cli/verify';
import { openSafetensors } from '../../extension/engine/loading/safetensors';
import { TOLERANCE, type Agreement } from '../../extension/engine/verify';

export interface Variant {
  readonly name: string;
  readonly backend: Backend;
  readonly precision: Precision;
}

/** How one checkpoint did on one backend; `error` when it could not be run. */
export interface Result {
  readonly pass: boolean;
  readonly agreement: Agreement | null;
  readonly error: string;
}

/** The named backends, or (null) all that this machine can load; stderr tells which are left out. */
export function variants(names: readonly string[] | null): Variant[] {
  const known = VARIANTS.map((v) => v.name);
  const unknown = names?.find((name) => !known.some((k) => k === name));
  if (unknown !== undefined) throw new Error(`--backend ${unknown}: expected ${known.join(', ')}`);
  return VARIANTS.filter((v) => names?.includes(v.name) ?? true).flatMap((v) => {
    try {
      return [{ ...v, backend: selectBackend(v.backend).backend }];
    } catch (error) {
      if (names !== null) throw error;
      console.error(`${v.name}: left out: ${messageOf(error)}`);
      return [];
    }
  });
}

/** `dir` itself when it has goldens, else the folders in it that have. */
export function checkpointsIn(dir: string): string[] {
  if (!existsSync(dir)) {
    console.error(`${dir}: not there, left out`);
    return [];
  }
  const hasGoldens = (path: string) => existsSync(join(path, 'golden.safetensors'));
  if (hasGoldens(dir)) return [dir];
  return readdirSync(dir)
    .map((name) => join(dir, name))
    .filter(hasGoldens);
}

export async function check(dir: string, { backend, precision }: Variant): Promise<Result> {
  try {
    const agreement = await agreementOf(dir, backend, precision);
    const { relError, cosine, greedyEqual } = agreement;
    const pass =
      precision === 'exact'
        ? relError <= TOLERANCE.relError && greedyEqual
        : cosine >= TOLERANCE.cosine;
    return { pass, agreement, error: '' };
  } catch (error) {
    return { pass: false, agreement: null, error: messageOf(error) };
  }
}

/** Family and format of a checkpoint, in words. */
export function describe(dir: string): { family: string; format: string } {
  const config = JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8')) as {
    model_type: string;
    quantization?: { bits: number; group_size: number; mode?: string };
  };
  const { quantization, model_type: family } = config;
  if (quantization === undefined) return { family, format: denseFormat(dir) };
  const { bits, group_size: group, mode = 'affine' } = quantization;
  return { family, format: `${mode} ${bits} bit g${group}` };
}

function denseFormat(dir: string): string {
  const file = openSafetensors(join(dir, 'model.safetensors'));
  const types = new Set([...file.tensors.values()].map((t) => t.dtype.toLowerCase()));
  file.close();
  return [...types].join(' ');
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
