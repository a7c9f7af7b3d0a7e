/**
 * linear for one row of x with a small weight of 4-bit numbers, where the time is that of memory to answer: a
 * simdgroup asks for all words of its slice of the columns before it uses any, and for what the outputs add
 * in the end. The lanes of a set hold the same rows of the weight, each another run of columns; x of the
 * slice goes through threadgroup memory of the simdgroup alone, so that none waits for another. Products are
 * halves as in matvec.h.
 *
 * Rows of x begin at multiples of 16 bytes, and there are kLaneRows outputs at least.
 *
 * Grid: tiles of SLICE_SETS * kLaneRows outputs, rows of x. Simdgroup s of kSimdgroups takes slices s, s +
 * kSimdgroups, …, at most kSplit. Threadgroup memory: SLICE_SLOTS uint4 a simdgroup.
 */
#include "linear.h"
#include "matvec.h"

enum {
  SLICE_SETS = 2,
  SLICE_LANES = 32 / SLICE_SETS,
  SLICE_COLUMNS = SLICE_LANES * RUN,
  SLICE_BLOCKS = SLICE_COLUMNS / BLOCK,
  /** Of x of a slice, and for each run Σ x and what undoes its factor. */
  SLICE_SLOTS = SLICE_BLOCKS * (PANEL / 2 + SET_LANES / 2),
  MAX_SLICE_ROWS = 8,
  /** Most simdgroups, and outputs of a tile. */
  MAX_SLICERS = 16,
  SLICE_TILE = SLICE_SETS * MAX_SLICE_ROWS
};

/** What a lane reads of its rows in a slice. */
struct Slice {
  uint4 words[MAX_SLICE_ROWS];
  float scales[MAX_SLICE_ROWS];
  float biases[MAX_SLICE_ROWS];
};

/** Words, scale and bias of the lane's row r from column k on; past the last ones these again, which meet
 * zeros. */
inline void load_slice_row(const thread Tile& tile, uint k, uint r, thread Slice& slice) {
  const uint column = min(k, tile.columns - RUN);
  DEVICE(const uint4)
  words = AS_DEVICE(const uint4, tile.weight) + (tile.rows[0] * (tile.columns / RUN) + column / RUN);
  slice.words[r] = words[r * (tile.columns / RUN)];
  const uint at = tile.rows[0] * (tile.columns / kGroupSize) + column / kGroupSize;
  slice.scales[r] = load_value(tile.scales, kScaleType, at + r * (tile.columns / kGroupSize));
  slice.biases[r] = load_value(tile.biases, kScaleType, at + r * (tile.columns / kGroupSize));
}

/** The lane's 8 numbers of each block of a slice, and what a norm multiplies them by. */
struct SliceX {
  float values[SLICE_BLOCKS * 8];
  float weights[SLICE_BLOCKS * 8];
};
inline void load_slice_x(const thread Tile& tile, uint first, uint lane, thread SliceX& x) {
  UNROLL for (uint b = 0; b < SLICE_BLOCKS; b++) {
    const uint k = first + b * BLOCK + lane * 8;
    UNROLL for (uint e = 0; e < 8; e++) x.values[b * 8 + e] = 0.0f;
    if (k < tile.columns) load_values8(tile.x, kXType, tile.first + k, x.values + b * 8);
    if (!kHasNormWeight) continue;
    UNROLL for (uint e = 0; e < 8; e++) x.weights[b * 8 + e] = 0.0f;
    if (k < tile.columns) {
      load_values8(AS_DEVICE(const uchar, tile.norm_weight), DTYPE_F32, k, x.weights + b * 8);
    }
  }
}
/** Norms them but for what the epilogue does. */
inline void norm_slice_x(thread Tile& tile, thread SliceX& x) {
  if (kNorm != NORM_RMS) return;
  UNROLL for (uint i = 0; i < SLICE_BLOCKS * 8; i++) {
    tile.squares = fma(x.values[i], x.values[i], tile.squares);
    if (kHasNormWeight) x.values[i] *= x.weights[i] + tile.offset;
  }
}

/** Adds the products of the lane's run of a row: `pairs` are x, `total` Σ x and what undoes its factor. */
inline void add_slice_row(const thread Slice& slice, uint r, const thread uint4* pairs, float2 total,
                          thread float* sums) {
  const uint words[4] = {slice.words[r].x, slice.words[r].y, slice.words[r].z, slice.words[r].w};
  half2 halves[2];
  UNROLL for (uint two = 0; two < 2; two++) {
    half2 sum = make_half2(0.0f, 0.0f);
    UNROLL for (uint i = 2 * two; i < 2 * two + 2; i++) {
      sum = fused(centred_pair(words[i], 0), as_type<half2>(pairs[i].x), sum);
      sum = fused(centred_pair(words[i], 1), as_type<half2>(pairs[i].y), sum);
      sum = fused(centred_pair(words[i], 2), as_type<half2>(pairs[i].z), sum);
      sum = fused(centred_pair(words[i], 3), as_type<half2>(pairs[i].w), sum);
    }
    halves[two] = sum;
  }
  const half2 sum = fused(halves[0], make_half2(1.0f, 1.0f), halves[1]);
  const float dot = float(sum.x) + float(sum.y);
  sums[r] = fma(slice.scales[r] * total.y, dot, sums[r]);
  sums[r] = fma(fma(slice.scales[r], float(CENTRE), slice.biases[r]), total.x, sums[r]);
}

/** Sums over the lanes of a set: each lane ends with that of row lane % kLaneRows. */
inline float exchange_rows(thread float* sums, uint lane) {
  UNROLL_BY_CONSTANT for (uint count = kLaneRows / 2; count > 0; count /= 2) {
    const bool is_upper = (lane & count) != 0;
    UNROLL_BY_CONSTANT for (uint i = 0; i < count; i++) {
      const float kept = is_upper ? sums[i + count] : sums[i];
      const float given = is_upper ? sums[i] : sums[i + count];
      sums[i] = kept + simd_shuffle_xor(given, count);
    }
  }
  float sum = sums[0];
  UNROLL_BY_CONSTANT for (uint bit = kLaneRows; bit < SLICE_LANES; bit *= 2) sum +=
      simd_shuffle_xor(sum, bit);
  return sum;
}

KERNEL(linear_slices, 512)
(BUFFER(const uchar, x, 0), BUFFER(const uchar, weight, 1), BUFFER(const uchar, scales, 2),
 BUFFER(const uchar, biases, 3), BUFFER(const float, norm_weight, 4), BUFFER(const float, bias, 5),
 BUFFER(const float, residual, 6), BUFFER(uchar, out, 7), PARAMS(LinearParams, p, 8),
 THREADGROUP_BUFFER(uint4, staged, 0), GRID) {
  // The sums of each simdgroup, then its squares.
  THREADGROUP_ARRAY(float, shared, MAX_SLICERS*(SLICE_TILE + 1));
  const uint set = lane / SLICE_LANES;
  const uint own = lane % SLICE_LANES;
  const uint row = group.y;
  const uint tile_rows = SLICE_SETS * kLaneRows;
  Tile tile;
  tile.x = x;
  tile.first = row * p.x_stride + p.x_column;
  tile.columns = p.columns;
  tile.weight = weight;
  tile.scales = scales;
  tile.biases = biases;
  tile.norm_weight = norm_weight;
  tile.offset = p.offset;
  tile.squares = 0.0f;
  // The last set may share rows with the one before, whose outputs these then are.
  tile.rows[0] = min(group.x * tile_rows + set * kLaneRows, p.outputs - kLaneRows);

  Slice slice;
  SliceX next_x;
  uint first = simd_index * SLICE_COLUMNS;
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) load_slice_row(tile, first + own * RUN, r, slice);
  load_slice_x(tile, first, lane, next_x);
  // What one thread an output adds in the end.
  const uint output = group.x * tile_rows + thread_index;
  const bool has_output = thread_index < tile_rows && output < p.outputs;
  const uint index = row * p.out_stride + p.out_column + output;
  const float added = kHasResidual && has_output ? residual[index] : 0.0f;
  const float own_bias = kHasBias && has_output ? bias[output] : 0.0f;

  float sums[MAX_SLICE_ROWS];
  UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) sums[r] = 0.0f;
  THREADGROUP(uint4) panel = staged + simd_index * SLICE_SLOTS;
  THREADGROUP(float2) totals = AS_THREADGROUP(float2, panel + SLICE_BLOCKS * (PANEL / 2));
  UNROLL_BY_CONSTANT for (uint i = 0; i < kSplit; i++) {
    if (i > 0 && first >= p.columns) break;
    norm_slice_x(tile, next_x);
    if (i > 0) lanes_barrier();
    UNROLL for (uint b = 0; b < SLICE_BLOCKS; b++) {
      store_halves(next_x.values + b * 8, lane, panel + b * (PANEL / 2), totals + b * SET_LANES);
    }
    lanes_barrier();
    const uint next = first + kSimdgroups * SLICE_COLUMNS;
    if (i + 1 < kSplit) load_slice_x(tile, next, lane, next_x);
    uint4 pairs[4];
    UNROLL for (uint j = 0; j < 4; j++) {
      pairs[j] = panel[own / SET_LANES * (PANEL / 2) + slot_of(j, own % SET_LANES)];
    }
    const float2 total = totals[own];
    UNROLL_BY_CONSTANT for (uint r = 0; r < kLaneRows; r++) {
      add_slice_row(slice, r, pairs, total, sums);
      if (i + 1 < kSplit) load_slice_row(tile, next + own * RUN, r, slice);
    }
    first = next;
  }

  const float sum = exchange_rows(sums, lane);
  const uint pitch = SLICE_TILE + 1;
  if (own < kLaneRows) shared[simd_index * pitch + set * kLaneRows + own] = sum;
  if (kNorm == NORM_RMS) {
    const float squares = simd_sum(tile.squares);
    if (lane == 0) shared[simd_index * pitch + SLICE_TILE] = squares;
  }
  group_barrier();
  if (!has_output) return;
  const uint last = p.outputs - kLaneRows;
  // Where this output's sum stands if its set began at `last`.
  const uint begin = group.x * tile_rows + thread_index / kLaneRows * kLaneRows;
  const uint place = thread_index + (begin > last ? begin - last : 0);
  float value = 0.0f;
  tile.squares = 0.0f;
  UNROLL_BY_CONSTANT for (uint s = 0; s < kSimdgroups; s++) {
    value += shared[s * pitch + place];
    if (kNorm == NORM_RMS) tile.squares += shared[s * pitch + SLICE_TILE];
  }
  value = fma(value, rms_factor(tile, p.eps), own_bias);
  store_value(out, kOutType, index, activate(value * p.factor) + added);
}
