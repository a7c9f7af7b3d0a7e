/**
 * metal/msl.h for clang's C++ for OpenCL, which knows address spaces as Metal does: an unqualified pointer, a
 * double or a pointer that changes its space is an error. Only read, never run.
 */
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define KERNEL(name, threads) kernel void name
#define BUFFER(T, name, index) __global T* name
#define PARAMS(T, name, index) __constant T& name
#define THREADGROUP_BUFFER(T, name, index) __local T* name
#define GRID uint3 group, uint thread_index, uint lane, uint simd_index
#define THREADGROUP_ARRAY(T, name, count) __local T name[count]
#define FUNCTION_CONSTANT(T, name, id) __constant T name = id
#define DEVICE(T) __global T*
#define THREADGROUP(T) __local T*
#define AS_DEVICE(T, pointer) ((__global T*)(pointer))
#define AS_THREADGROUP(T, pointer) ((__local T*)(pointer))
#define UNROLL _Pragma("unroll")
#define UNROLL_BY_CONSTANT _Pragma("unroll")
#define thread __private

template <typename To, typename From>
To as_type(From from);

void group_barrier();
void group_device_barrier();
void lanes_barrier();

uint with_bits_of(uint word, uint mask, uint base);
float round_to_even(float x);
half2 make_half2(float x, float y);
half2 fused(half2 a, half2 b, half2 c);
float2 make_float2(float x, float y);
float4 make_float4(float x, float y, float z, float w);
float4 to_float4(half4 v);

uint mulhi(uint a, uint b);
namespace fast {
float exp(float x);
float exp2(float x);
float log(float x);
}  // namespace fast

template <typename T>
T simd_sum(T value);
template <typename T>
T simd_max(T value);
template <typename T>
T simd_min(T value);
template <typename T>
T simd_shuffle(T value, ushort lane);
template <typename T>
T simd_shuffle_xor(T value, ushort mask);
template <typename T>
T simd_shuffle_down(T value, ushort delta);
template <typename T>
T simd_shuffle_up(T value, ushort delta);
template <typename T>
T simd_broadcast(T value, ushort lane);
template <typename T>
T simd_prefix_exclusive_sum(T value);
uint ballot(bool predicate);

void atomic_set(__local atomic_uint* target, uint value);
uint atomic_add(__local atomic_uint* target, uint value);
uint atomic_get(__local atomic_uint* target);

template <typename T, int kColumns, int kRows>
class simdgroup_matrix {
 public:
  __private T* thread_elements() __private;
};
template <typename T>
void simdgroup_fill(__private simdgroup_matrix<T, 8, 8>& matrix, T value);
template <typename T>
void simdgroup_load(__private simdgroup_matrix<T, 8, 8>& matrix, __global const T* source, uint stride);
template <typename T>
void simdgroup_load(__private simdgroup_matrix<T, 8, 8>& matrix, __local const T* source, uint stride);
template <typename T>
void simdgroup_load_transposed(__private simdgroup_matrix<T, 8, 8>& matrix, __global const T* source,
                               uint stride);
template <typename T>
void simdgroup_load_transposed(__private simdgroup_matrix<T, 8, 8>& matrix, __local const T* source,
                               uint stride);
template <typename T>
void simdgroup_store(__private simdgroup_matrix<T, 8, 8>& matrix, __global T* target, uint stride);
template <typename T>
void simdgroup_store(__private simdgroup_matrix<T, 8, 8>& matrix, __local T* target, uint stride);
template <typename A, typename D>
void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>& d,
                                   __private simdgroup_matrix<A, 8, 8>& a,
                                   __private simdgroup_matrix<A, 8, 8>& b,
                                   __private simdgroup_matrix<D, 8, 8>& c);
void multiply_integers(__private simdgroup_matrix<float, 8, 8>& first,
                       __private simdgroup_matrix<float, 8, 8>& second,
                       __private simdgroup_matrix<float, 8, 8>& a, __private simdgroup_matrix<float, 8, 8>& b,
                       __private simdgroup_matrix<float, 8, 8>& right);
uint key_row(uint lane, uint n);
uint key_column(uint lane, uint n);
uint value_row(uint lane, uint n);
uint value_column(uint lane, uint n);
void zip_rights(uint4 first, uint4 second, __private simdgroup_matrix<half, 8, 8> (&rights)[8]);
void multiply_pair(__private simdgroup_matrix<float, 8, 8>& sums, __private simdgroup_matrix<half, 8, 8>& a,
                   __private simdgroup_matrix<half, 8, 8>& b, __private simdgroup_matrix<half, 8, 8>& one,
                   __private simdgroup_matrix<half, 8, 8>& two);
void multiply_two(__private simdgroup_matrix<float, 8, 8>& first,
                  __private simdgroup_matrix<float, 8, 8>& second,
                  __private simdgroup_matrix<half, 8, 8> (&left)[4],
                  __private simdgroup_matrix<half, 8, 8>& one, __private simdgroup_matrix<half, 8, 8>& two);

uint4 right_order(uint4 numbers);
void load_rights(__local const uint4* staged, uint lane, __private simdgroup_matrix<half, 8, 8> (&rights)[4]);

uint fragment_row(uint lane);
uint fragment_column(uint lane);
enum { FRAGMENT_ROW_BIT_0 = 1, FRAGMENT_ROW_BIT_1 = 8 };
