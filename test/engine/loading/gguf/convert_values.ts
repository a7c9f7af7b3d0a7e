/** A matrix or a stack of them, row-major. */
export interface Values {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export function map({ shape, data }: Values, change: (value: number) => number): Values {
  return { shape, data: data.map(change) };
}

/** The last two axes of [stack, rows, cols] swapped. */
export function transpose({ shape, data }: Values): Values {
  const [stack = 1, cols = 1, rows = 1] = shape;
  const out = new Float32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const [matrix, rest] = [Math.floor(i / (cols * rows)), i % (cols * rows)];
    const [row, col] = [Math.floor(rest / cols), rest % cols];
    out[i] = data[matrix * cols * rows + col * rows + row] ?? 0;
  }
  return { shape: [stack, rows, cols], data: out };
}
