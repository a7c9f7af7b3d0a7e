/** Ops in float64, one row or head at a time: what the kernels are compared with. And how requests give their operands. */
import type { Fields } from './runner';

export interface Norm {
  readonly kind: 'rms' | 'layer';
  readonly weight: Float32Array | null;
  readonly bias: Float32Array | null;
  readonly eps: number;
  readonly offset: number;
}

/** The operand called `prefix` of a request; no fields when there is no norm. */
export function normFields(prefix: string, spec: Norm | null): Fields {
  if (spec === null) return { numbers: {}, inputs: {} };
  return {
    numbers: {
      [`${prefix}_kind`]: spec.kind === 'rms' ? 1 : 2,
      [`${prefix}_eps`]: spec.eps,
      [`${prefix}_offset`]: spec.offset,
    },
    inputs: {
      ...(spec.weight === null ? {} : { [`${prefix}_weight`]: spec.weight }),
      ...(spec.bias === null ? {} : { [`${prefix}_bias`]: spec.bias }),
    },
  };
}

/** Normalises each of `groups` equal parts of each row of x [rows, columns]. */
export function norm(
  x: ArrayLike<number>,
  columns: number,
  groups: number,
  spec: Norm,
): Float64Array {
  const size = columns / groups;
  const out = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += size) {
    const part = Array.from({ length: size }, (_, i) => x[start + i] as number);
    const mean = spec.kind === 'layer' ? part.reduce((a, b) => a + b, 0) / size : 0;
    const square = part.reduce((sum, v) => sum + (v - mean) ** 2, 0) / size;
    const inverse = 1 / Math.sqrt(square + spec.eps);
    for (const [i, v] of part.entries()) {
      const at = ((start % columns) + i) % (spec.weight ?? spec.bias ?? part).length;
      const weight = spec.weight === null ? 1 : (spec.weight[at] as number) + spec.offset;
      const bias = spec.bias === null ? 0 : (spec.bias[at] as number);
      out[start + i] = (v - mean) * inverse * weight + bias;
    }
  }
  return out;
}

export interface Rope {
  readonly inverseFrequencies: readonly number[];
  readonly scale: number;
  readonly layout: 'half' | 'interleaved';
  /** First column that turns; default 0. */
  readonly start?: number;
}

/** Rotates one head. */
export function rotate(head: ArrayLike<number>, position: number, rope: Rope): Float64Array {
  const out = Float64Array.from(head);
  const pairs = rope.inverseFrequencies.length;
  for (const [i, frequency] of rope.inverseFrequencies.entries()) {
    const { start = 0 } = rope;
    const a = start + (rope.layout === 'half' ? i : 2 * i);
    const b = start + (rope.layout === 'half' ? i + pairs : 2 * i + 1);
    const cos = Math.cos(position * frequency) * rope.scale;
    const sin = Math.sin(position * frequency) * rope.scale;
    const x = head[a] as number;
    const y = head[b] as number;
    out[a] = x * cos - y * sin;
    out[b] = y * cos + x * sin;
  }
  return out;
}

export function ropeFields(rope: Rope | null): Fields {
  if (rope === null) return { numbers: {}, inputs: {} };
  return {
    numbers: {
      rope_kind: rope.layout === 'half' ? 1 : 2,
      rope_scale: rope.scale,
      rope_start: rope.start ?? 0,
    },
    inputs: { frequencies: turns(rope.inverseFrequencies) },
  };
}

/** Frequencies as the kernels read them: fractions of a turn in units of 2^-64, high word first. */
export function turns(inverseFrequencies: readonly number[]): Uint32Array {
  return Uint32Array.from(
    inverseFrequencies.flatMap((f) => {
      const turn = (f / (2 * Math.PI)) % 1;
      const high = Math.floor(turn * 2 ** 32);
      return [high, Math.floor((turn * 2 ** 32 - high) * 2 ** 32)];
    }),
  );
}
