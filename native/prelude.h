/**
 * Headers of others that most sources read, for builds that keep them parsed. No source relies on it: each
 * includes what it uses, and the checks compile them without.
 */
#pragma once

#if defined(ANLLM_SIMD_AVX2) || defined(ANLLM_SIMD_AVX512)
#include <immintrin.h>
#elif defined(ANLLM_SIMD_NEON)
#include <arm_neon.h>
#elif !defined(ANLLM_SIMD_SCALAR)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>
#endif
