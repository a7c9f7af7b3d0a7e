/**
 * The SIMD vocabulary of the kernels: vectors of 16 lanes whatever the instruction set, so that every kernel
 * is written once and sums in the same order everywhere. One header per instruction set defines the same
 * names in the namespace anllm::ANLLM_ISA:
 *
 * - F32, 16 floats: Zero Set Load LoadPartial Store StorePartial, + - * /, MulAdd(a, b, c) = a * b + c,
 *   Min Max Abs, SelectLess(a, b, yes, no), KeepRange(v, begin, end, fill), Sum, Highest; converted by
 *   LoadHalf, StoreHalf (saturating binary16), LoadBfloat, LoadBytes (signed).
 * - I32, 16 ints: LoadInts, Bits(v, shift, mask), ToFloat, ToInt (to nearest), PowerOfTwo, StoreBytes.
 * - Quads, 4 neighbouring columns as 4 bytes: weights come as 16 rows of a quad, unsigned; activations as
 *   one signed quad given to all rows (BroadcastQuad). LoadNibbleQuads and LoadByteQuads read two
 *   neighbouring quads of weights. NibbleDot and ByteDot sum their products: Begin, Add for at most 32
 *   columns, End, Total. LoadE2m1Quads reads E2M1 for NibbleDot, whose columns are at most 16 then, and
 *   LoadSixBitQuads(p, i, ...) columns 8i to 8i + 7 of 16 for SixBitDot; IntsOf has either's bytes as ints.
 * - kTileRows: activation rows that a matrix tile holds in registers.
 * - kScoreRows, kScoreVectors: query rows and vectors of keys in a tile of attention scores.
 * - kMixRows, kMixVectors: query rows and vectors of values in a tile of attention outputs.
 * - kStateVectors: vectors of a recurrent state that are updated together.
 */
#pragma once

#include <stdint.h>

#include "../kernels/inline.h"
#include "../kernels/matrix.h"

#if defined(ANLLM_SIMD_AVX512)
#include "avx512.h"
#elif defined(ANLLM_SIMD_AVX2)
#include "avx2.h"
#elif defined(ANLLM_SIMD_NEON)
#include "neon.h"
#else
#include "scalar.h"
#endif
