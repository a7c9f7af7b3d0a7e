/**
 * metal/msl.h for CUDA, compiled at run time by NVRTC with -default-device: a simdgroup is a warp, a
 * threadgroup a block. Function constants are macros ANLLM_CONSTANT_<id>, so that they are as constant as in
 * a pipeline of Metal's.
 */
#pragma once

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long long;

/** The kernel's text is a function; CUDA_ENTRY, appended for each kernel, calls it. */
#define KERNEL(name, threads)        \
  enum { name##_threads = threads }; \
  static void name##_body
#define BUFFER(T, name, index) T* name
#define PARAMS(T, name, index) const T& name
#define THREADGROUP_BUFFER(T, name, index) T* name
#define GRID uint3 group, uint thread_index, uint lane, uint simd_index
#define THREADGROUP_ARRAY(T, name, count) __shared__ T name[count]
#define FUNCTION_CONSTANT(T, name, id) constexpr T name = ANLLM_CONSTANT_##id
#define DEVICE(T) T*
#define THREADGROUP(T) T*
#define AS_DEVICE(T, pointer) ((T*)(pointer))
#define AS_THREADGROUP(T, pointer) ((T*)(pointer))
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_CONSTANT _Pragma("unroll")
#define thread
#define constant const

#define ALL_LANES 0xffffffffu

template <class To, class From>
inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  return *reinterpret_cast<To*>(&from);
}

/** (word & mask) | base in one instruction, which the compiler does not find by itself. */
inline uint with_bits_of(uint word, uint mask, uint base) {
  uint bits;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(bits) : "r"(word), "r"(mask), "r"(base));
  return bits;
}

struct half {
  ushort bits;

  half() = default;
  explicit half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};
struct alignas(4) half2 {
  half x, y;
};
struct alignas(8) half4 {
  half x, y, z, w;
};
inline half2 make_half2(float x, float y) {
  return {half(x), half(y)};
}
inline half2 fused(half2 a, half2 b, half2 c) {
  uint sum;
  asm("fma.rn.f16x2 %0, %1, %2, %3;"
      : "=r"(sum)
      : "r"(as_type<uint>(a)), "r"(as_type<uint>(b)), "r"(as_type<uint>(c)));
  return as_type<half2>(sum);
}
inline float4 to_float4(half4 v) {
  return make_float4(v.x, v.y, v.z, v.w);
}
inline float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

inline uint max(uint a, uint b) {
  return a > b ? a : b;
}
inline uint min(uint a, uint b) {
  return a < b ? a : b;
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float clamp(float x, float low, float high) {
  return fminf(fmaxf(x, low), high);
}
inline float round_to_even(float x) {
  return rintf(x);
}
inline uint mulhi(uint a, uint b) {
  return __umulhi(a, b);
}
namespace fast {
inline float exp(float x) {
  return __expf(x);
}
inline float exp2(float x) {
  return exp2f(x);
}
inline float log(float x) {
  return __logf(x);
}
}  // namespace fast

inline void group_barrier() {
  __syncthreads();
}
inline void group_device_barrier() {
  __threadfence_block();
  __syncthreads();
}
inline void lanes_barrier() {
  __syncwarp();
}

template <class T>
inline T simd_shuffle_xor(T value, uint mask) {
  return __shfl_xor_sync(ALL_LANES, value, mask);
}
template <class T>
inline T simd_shuffle(T value, uint lane) {
  return __shfl_sync(ALL_LANES, value, lane);
}
template <class T>
inline T simd_broadcast(T value, uint lane) {
  return __shfl_sync(ALL_LANES, value, lane);
}
template <class T>
inline T simd_sum(T value) {
  for (uint step = 16; step > 0; step /= 2) value += simd_shuffle_xor(value, step);
  return value;
}
template <class T>
inline T simd_max(T value) {
  for (uint step = 16; step > 0; step /= 2) value = max(value, simd_shuffle_xor(value, step));
  return value;
}
template <class T>
inline T simd_min(T value) {
  for (uint step = 16; step > 0; step /= 2) value = min(value, simd_shuffle_xor(value, step));
  return value;
}
/** Of the lanes before this one. */
inline float simd_prefix_exclusive_sum(float value) {
  float sum = value;
  for (uint step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(ALL_LANES, sum, step);
    if (threadIdx.x % 32 >= step) sum += before;
  }
  const float before = __shfl_up_sync(ALL_LANES, sum, 1);
  return threadIdx.x % 32 == 0 ? 0.0f : before;
}

using atomic_uint = uint;
inline void atomic_set(atomic_uint* target, uint value) {
  *target = value;
}
inline uint atomic_add(atomic_uint* target, uint value) {
  return atomicAdd(target, value);
}
inline uint atomic_get(atomic_uint* target) {
  return *target;
}

// Where a lane's two elements of a matrix lie: as in the sums of mma, so that they are its registers.
inline uint fragment_row(uint lane) {
  return lane / 4;
}
inline uint fragment_column(uint lane) {
  return lane % 4 * 2;
}
enum { FRAGMENT_ROW_BIT_0 = 1, FRAGMENT_ROW_BIT_1 = 2 };

inline uint own_lane() {
  return threadIdx.x % 32;
}

/**
 * A lane's two elements, and as mma wants a right matrix those of its two rows 2 (lane % 4) and the next one
 * in column lane / 4. A load brings both; the compiler drops what nobody reads.
 */
template <class T, int kColumns, int kRows>
class simdgroup_matrix {
 public:
  T* thread_elements() {
    has_columns_ = false;
    return elements_;
  }
  void load(const T* source, uint row_stride, uint column_stride) {
    const uint row = fragment_row(own_lane());
    const uint column = fragment_column(own_lane());
    elements_[0] = source[row * row_stride + column * column_stride];
    elements_[1] = source[row * row_stride + (column + 1) * column_stride];
    columns_[0] = source[column * row_stride + row * column_stride];
    columns_[1] = source[(column + 1) * row_stride + row * column_stride];
    has_columns_ = true;
  }
  /** What mma wants of a right matrix, as its register has it. */
  void set_columns(uint bits) {
    columns_[0].bits = ushort(bits);
    columns_[1].bits = ushort(bits >> 16);
    has_columns_ = true;
  }
  void columns(T& first, T& second) const {
    if (has_columns_) {
      first = columns_[0];
      second = columns_[1];
      return;
    }
    const uint from = fragment_column(own_lane()) * 4 + fragment_row(own_lane()) / 2;
    const bool is_odd = fragment_row(own_lane()) % 2 == 1;
    const float left = elements_[0], right = elements_[1];
    const float even0 = simd_shuffle(left, from), odd0 = simd_shuffle(right, from);
    const float even1 = simd_shuffle(left, from + 4), odd1 = simd_shuffle(right, from + 4);
    first = T(is_odd ? odd0 : even0);
    second = T(is_odd ? odd1 : even1);
  }

 private:
  T elements_[2];
  T columns_[2];
  bool has_columns_ = false;
};
template <class T>
inline void simdgroup_fill(simdgroup_matrix<T, 8, 8>& matrix, T value) {
  matrix.thread_elements()[0] = matrix.thread_elements()[1] = value;
}
template <class T>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix, const T* source, uint stride) {
  matrix.load(source, stride, 1);
}
template <class T>
inline void simdgroup_load_transposed(simdgroup_matrix<T, 8, 8>& matrix, const T* source, uint stride) {
  matrix.load(source, 1, stride);
}

/** See msl.h: mma wants i and i + 4 in one register of a lane. */
inline uint4 right_order(uint4 numbers) {
  return make_uint4(__byte_perm(numbers.x, numbers.z, 0x5410), __byte_perm(numbers.x, numbers.z, 0x7632),
                    __byte_perm(numbers.y, numbers.w, 0x5410), __byte_perm(numbers.y, numbers.w, 0x7632));
}
inline void load_rights(const uint4* staged, uint lane, simdgroup_matrix<half, 8, 8> (&rights)[4]) {
  const uint4 elements = staged[lane];
  rights[0].set_columns(elements.x);
  rights[1].set_columns(elements.y);
  rights[2].set_columns(elements.z);
  rights[3].set_columns(elements.w);
}

/** sums += a · b of 16 × 8 by 8 × 8, a's rows 8 … 15 being a2 and a3; mma reads the upper 19 bits of a float.
 */
inline void multiply_tf32(float (&sums)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a2)), "r"(__float_as_uint(a1)),
        "r"(__float_as_uint(a3)), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}
/** What mma reads of a float; the rest of it is exact. */
inline float upper(float value) {
  return __uint_as_float(__float_as_uint(value) & 0xffffe000u);
}

/** sums = a · b, within about 2^-21 of the product. */
inline void multiply(float (&sums)[4], const float* a, float b0, float b1) {
  const float a0 = upper(a[0]), a1 = upper(a[1]), first = upper(b0), second = upper(b1);
  multiply_tf32(sums, a[0] - a0, a[1] - a1, 0, 0, first, second);
  multiply_tf32(sums, a0, a1, 0, 0, b0 - first, b1 - second);
  multiply_tf32(sums, a0, a1, 0, 0, first, second);
}
inline void multiply(float (&sums)[4], const half* a, half b0, half b1) {
  const uint left = a[0].bits | uint(a[1].bits) << 16;
  const uint right = b0.bits | uint(b1.bits) << 16;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left), "r"(0u), "r"(right));
}

/** d = a · b + c; the matrix unit's sums are cut off rather than rounded, so a long sum is kept outside of
 * it. */
template <class A, class D>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8>& a,
                                          simdgroup_matrix<A, 8, 8>& b, simdgroup_matrix<D, 8, 8>& c) {
  float sums[4] = {0, 0, 0, 0};
  A first, second;
  b.columns(first, second);
  const A left[2] = {a.thread_elements()[0], a.thread_elements()[1]};
  multiply(sums, left, first, second);
  d.thread_elements()[0] = D(float(c.thread_elements()[0]) + sums[0]);
  d.thread_elements()[1] = D(float(c.thread_elements()[1]) + sums[1]);
}

/** See msl.h; the integers are exact in what mma reads, so that x is parted only. */
inline void multiply_integers(simdgroup_matrix<float, 8, 8>& first, simdgroup_matrix<float, 8, 8>& second,
                              simdgroup_matrix<float, 8, 8>& a, simdgroup_matrix<float, 8, 8>& b,
                              simdgroup_matrix<float, 8, 8>& right) {
  float b0, b1;
  right.columns(b0, b1);
  float sums[4] = {first.thread_elements()[0], first.thread_elements()[1], second.thread_elements()[0],
                   second.thread_elements()[1]};
  const float above0 = upper(b0), above1 = upper(b1);
  const float a0 = a.thread_elements()[0], a1 = a.thread_elements()[1];
  const float a2 = b.thread_elements()[0], a3 = b.thread_elements()[1];
  multiply_tf32(sums, a0, a1, a2, a3, b0 - above0, b1 - above1);
  multiply_tf32(sums, a0, a1, a2, a3, above0, above1);
  first.thread_elements()[0] = sums[0];
  first.thread_elements()[1] = sums[1];
  second.thread_elements()[0] = sums[2];
  second.thread_elements()[1] = sums[3];
}
/** sums[0 … 3] += a · b of 16 × 16 by 16 × 8. */
inline void multiply_halves(float (&sums)[4], uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
inline uint left_register(simdgroup_matrix<half, 8, 8>& left) {
  return left.thread_elements()[0].bits | uint(left.thread_elements()[1].bits) << 16;
}
inline uint right_register(const simdgroup_matrix<half, 8, 8>& right) {
  half lower, upper;
  right.columns(lower, upper);
  return lower.bits | uint(upper.bits) << 16;
}

/** See msl.h. */
inline void multiply_two(simdgroup_matrix<float, 8, 8>& first, simdgroup_matrix<float, 8, 8>& second,
                         simdgroup_matrix<half, 8, 8> (&left)[4], simdgroup_matrix<half, 8, 8>& one,
                         simdgroup_matrix<half, 8, 8>& two) {
  float sums[4] = {first.thread_elements()[0], first.thread_elements()[1], second.thread_elements()[0],
                   second.thread_elements()[1]};
  multiply_halves(sums, left_register(left[0]), left_register(left[1]), left_register(left[2]),
                  left_register(left[3]), right_register(one), right_register(two));
  first.thread_elements()[0] = sums[0];
  first.thread_elements()[1] = sums[1];
  second.thread_elements()[0] = sums[2];
  second.thread_elements()[1] = sums[3];
}

/** See msl.h: mma wants two keys, or two numbers of a key, in one register of a lane. */
inline uint key_row(uint lane, uint) {
  return lane / 4;
}
inline uint key_column(uint lane, uint n) {
  return (lane % 4 * 2 + n) * 8;
}
inline uint value_row(uint lane, uint n) {
  return lane % 4 * 2 + n;
}
inline uint value_column(uint lane, uint) {
  return lane / 4 * 8;
}
inline void zip_rights(uint4 first, uint4 second, simdgroup_matrix<half, 8, 8> (&rights)[8]) {
  const uint one[4] = {first.x, first.y, first.z, first.w};
  const uint two[4] = {second.x, second.y, second.z, second.w};
  UNROLL for (uint i = 0; i < 4; i++) {
    rights[2 * i].set_columns(__byte_perm(one[i], two[i], 0x5410));
    rights[2 * i + 1].set_columns(__byte_perm(one[i], two[i], 0x7632));
  }
}
inline void multiply_pair(simdgroup_matrix<float, 8, 8>& d, simdgroup_matrix<half, 8, 8>& a,
                          simdgroup_matrix<half, 8, 8>& b, simdgroup_matrix<half, 8, 8>& one,
                          simdgroup_matrix<half, 8, 8>& two) {
  float sums[4] = {d.thread_elements()[0], d.thread_elements()[1], 0, 0};
  multiply_halves(sums, left_register(a), 0, left_register(b), 0, right_register(one), right_register(two));
  d.thread_elements()[0] = sums[0];
  d.thread_elements()[1] = sums[1];
}
