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

/**
 * 'whole latent': DeepSeek before its latent projection was split in two. 'whole inputs': the first files of Qwen3-Next, whose
 * input projection is as in Hugging Face checkpoints. 'fused experts': gate and up of experts as one tensor. 'layers ahead':
 * with a layer that predicts the token after the next.
 */
export type GgufForm = 'usual' | 'whole latent' | 'whole inputs' | 'fused experts' | 'layers ahead';
