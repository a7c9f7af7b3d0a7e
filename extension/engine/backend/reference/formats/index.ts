import type { BlockType } from '../../../loading/weights';
import { type BlockDecoder, iq4_nl, mxfp4, q4_0, q4_1, q5_0, q5_1, q8_0 } from './gguf_blocks';
import { iq4_xs, q2_k, q3_k, q4_k, q5_k, q6_k } from './gguf_k_blocks';

/** The decoder of each block format of GGUF. */
export const BLOCK_DECODERS: Readonly<Record<BlockType, BlockDecoder>> = {
  Q4_0: q4_0,
  Q4_1: q4_1,
  Q5_0: q5_0,
  Q5_1: q5_1,
  Q8_0: q8_0,
  Q2_K: q2_k,
  Q3_K: q3_k,
  Q4_K: q4_k,
  Q5_K: q5_k,
  Q6_K: q6_k,
  IQ4_NL: iq4_nl,
  IQ4_XS: iq4_xs,
  MXFP4: mxfp4,
};
