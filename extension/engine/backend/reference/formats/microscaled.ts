import { codeAt } from './affine';
import { E2M1, e4m3ToNumber, e8m0ToNumber } from './floats';
import type { MicroscaledMode } from '../../../loading/weights';

interface Coding {
  readonly bits: number;
  readonly element: (code: number) => number;
  readonly scale: (byte: number) => number;
}

const e2m1 = (code: number) => E2M1[code] ?? NaN;

/** OCP Microscaling Formats 1.0, section 5; NVFP4: the same elements with finer scales. */
const CODINGS: Readonly<Record<MicroscaledMode, Coding>> = {
  mxfp4: { bits: 4, element: e2m1, scale: e8m0ToNumber },
  mxfp8: { bits: 8, element: e4m3ToNumber, scale: e8m0ToNumber },
  nvfp4: { bits: 4, element: e2m1, scale: e4m3ToNumber },
};

/** MLX's float modes: small floats with a scale for each group of columns; w = element * scale. */
export function microscaled(
  mode: MicroscaledMode,
  groupSize: number,
  cols: number,
  packed: Uint8Array,
  scales: Uint8Array,
): Float32Array {
  const { bits, element, scale } = CODINGS[mode];
  const rowBytes = (cols * bits) / 8;
  const out = new Float32Array((packed.length / rowBytes) * cols);
  for (let i = 0; i < out.length; i++) {
    const c = i % cols;
    const code = codeAt(packed, ((i - c) / cols) * rowBytes, bits, c);
    out[i] = element(code) * scale(scales[Math.floor(i / groupSize)] ?? 255);
  }
  return out;
}
