/** Reading and writing elements whose type is a function constant. */
#pragma once

#include "constants.h"
#include "msl.h"

inline float bfloat_to_float(ushort bits) {
  return as_type<float>(uint(bits) << 16);
}

inline float load_value(DEVICE(const uchar) data, uint type, uint index) {
  if (type == DTYPE_F32) return AS_DEVICE(const float, data)[index];
  if (type == DTYPE_F16) return float(AS_DEVICE(const half, data)[index]);
  return bfloat_to_float(AS_DEVICE(const ushort, data)[index]);
}

/** Elements index … index + 3; the address is a multiple of their size. */
inline float4 load_values4(DEVICE(const uchar) data, uint type, uint index) {
  if (type == DTYPE_F32) return AS_DEVICE(const float4, data)[index / 4];
  if (type == DTYPE_F16) return to_float4(AS_DEVICE(const half4, data)[index / 4]);
  const ushort4 bits = AS_DEVICE(const ushort4, data)[index / 4];
  return make_float4(bfloat_to_float(bits.x), bfloat_to_float(bits.y), bfloat_to_float(bits.z),
                     bfloat_to_float(bits.w));
}

/** Elements index … index + 7; the address is a multiple of 16 bytes. */
inline void load_values8(DEVICE(const uchar) data, uint type, ulong index, thread float* values) {
  if (type == DTYPE_F32) {
    UNROLL for (uint i = 0; i < 2; i++) {
      const float4 four = AS_DEVICE(const float4, data)[index / 4 + i];
      values[4 * i] = four.x;
      values[4 * i + 1] = four.y;
      values[4 * i + 2] = four.z;
      values[4 * i + 3] = four.w;
    }
    return;
  }
  const uint4 four = AS_DEVICE(const uint4, data)[index / 8];
  const uint words[4] = {four.x, four.y, four.z, four.w};
  UNROLL for (uint i = 0; i < 4; i++) {
    if (type == DTYPE_F16) {
      const half2 two = as_type<half2>(words[i]);
      values[2 * i] = float(two.x);
      values[2 * i + 1] = float(two.y);
    } else {
      values[2 * i] = as_type<float>(words[i] << 16);
      values[2 * i + 1] = as_type<float>(words[i] & 0xffff0000u);
    }
  }
}

/** `type` is DTYPE_F32 or DTYPE_F16: activations and keys are never bfloat. */
inline void store_value(DEVICE(uchar) data, uint type, uint index, float value) {
  if (type == DTYPE_F32) {
    AS_DEVICE(float, data)[index] = value;
  } else {
    AS_DEVICE(half, data)[index] = half(value);
  }
}
