import { store, type Random } from './numbers';
import { DTYPE, type DType, type Fields } from './runner';

/** A weight as stored, and the values that it stands for. */
export interface TestWeight {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
  readonly fields: Fields;
}

/** How a weight is coded: its type, or affine numbers. */
export type Format =
  | { readonly type: 'f32' | 'f16' | 'bf16' }
  | {
      readonly type: 'affine';
      readonly bits: number;
      readonly groupSize: number;
      readonly scaleType: 'f32' | 'f16' | 'bf16';
    };

export function formatName(format: Format): string {
  return format.type === 'affine'
    ? `${format.bits} bits g${format.groupSize} ${format.scaleType}`
    : format.type;
}

function shape(rows: number, columns: number, type: DType) {
  return { weight_rows: rows, weight_columns: columns, weight_type: DTYPE[type] };
}

export function makeWeight(
  rows: number,
  columns: number,
  format: Format,
  random: Random,
): TestWeight {
  if (format.type !== 'affine') {
    const stored = store(format.type, random.floats(rows * columns));
    return {
      rows,
      columns,
      values: Float64Array.from(stored.values),
      fields: { numbers: shape(rows, columns, format.type), inputs: { weight: stored.bytes } },
    };
  }
  const { bits, groupSize, scaleType } = format;
  const groups = (rows * columns) / groupSize;
  // Scales of both signs, as MLX writes them.
  const scales = store(
    scaleType,
    random.floats(groups).map((s) => (s * 2) / 2 ** bits),
  );
  const biases = store(scaleType, random.floats(groups));
  const packed = new Uint32Array((rows * columns * bits) / 32);
  const values = new Float64Array(rows * columns);
  for (let i = 0; i < values.length; i++) {
    const q = random.int(2 ** bits);
    put(packed, i * bits, q);
    const group = Math.floor(i / groupSize);
    values[i] = q * (scales.values[group] as number) + (biases.values[group] as number);
  }
  return {
    rows,
    columns,
    values,
    fields: {
      numbers: {
        ...shape(rows, columns, 'affine'),
        bits,
        group_size: groupSize,
        scale_type: DTYPE[scaleType],
      },
      inputs: { weight: packed, scales: scales.bytes, biases: biases.bytes },
    },
  };
}

/** Writes `value` at a bit of a little-endian stream; it may reach into the next word. */
function put(words: Uint32Array, bit: number, value: number): void {
  const word = Math.floor(bit / 32);
  const shift = bit % 32;
  words[word] = ((words[word] as number) | (value << shift)) >>> 0;
  const rest = shift === 0 ? 0 : value >>> (32 - shift);
  if (rest !== 0) words[word + 1] = ((words[word + 1] as number) | rest) >>> 0;
}

/** x · weightᵀ in float64: [rows of x, rows of the weight]. */
export function product(x: ArrayLike<number>, weight: TestWeight): Float64Array {
  const { rows, columns, values } = weight;
  const xRows = x.length / columns;
  const out = new Float64Array(xRows * rows);
  for (let m = 0; m < xRows; m++) {
    for (let n = 0; n < rows; n++) {
      let sum = 0;
      for (let k = 0; k < columns; k++) {
        sum += (x[m * columns + k] as number) * (values[n * columns + k] as number);
      }
      out[m * rows + n] = sum;
    }
  }
  return out;
}
