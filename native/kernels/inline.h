/**
 * Kernels are compiled once per instruction set, and a linker keeps one copy of an inline function: it could
 * keep one that this machine cannot run. So functions that kernels share with the rest of the addon are
 * always inlined, and all others live in the namespace of their instruction set.
 */
#pragma once

#define ANLLM_INLINE inline __attribute__((always_inline))
