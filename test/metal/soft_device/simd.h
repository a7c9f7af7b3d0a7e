/** Metal's simdgroup functions and barriers. Every lane of the simdgroup must call them at the same place. */
#pragma once

#include <algorithm>
#include <type_traits>

#include "pointer.h"
#include "worker.h"

namespace anllm::soft {

/** Combines the values of all lanes pairwise, neighbours first, and gives every lane the result. */
template <class T, class Combine>
T Reduce(T value, Site site, Combine combine) {
  const uint32_t lanes = worker->lanes();
  return worker->Collective<T>(value, site, [&](const T* values, T* results) {
    T sums[kSimdWidth];
    std::copy(values, values + lanes, sums);
    for (uint32_t step = 1; step < lanes; step *= 2) {
      for (uint32_t i = 0; i + step < lanes; i += 2 * step) sums[i] = combine(sums[i], sums[i + step]);
    }
    std::fill(results, results + lanes, sums[0]);
  });
}

/** Gives lane i the value of lane source(i); a source out of range leaves a value that faults nobody but
 * means nothing. */
template <class T, class Source>
T Shuffle(T value, Site site, Source source) {
  const uint32_t lanes = worker->lanes();
  return worker->Collective<T>(value, site, [&](const T* values, T* results) {
    for (uint32_t i = 0; i < lanes; i++) {
      const uint32_t from = source(i);
      results[i] = from < lanes ? values[from] : values[i];
    }
  });
}

template <class T>
T simd_sum(T value, Site site = Site::Here()) {
  return Reduce(value, site, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
T simd_max(T value, Site site = Site::Here()) {
  return Reduce(value, site, [](T a, T b) { return std::max(a, b); });
}
template <class T>
T simd_min(T value, Site site = Site::Here()) {
  return Reduce(value, site, [](T a, T b) { return std::min(a, b); });
}
template <class T>
T simd_shuffle_xor(T value, uint32_t mask, Site site = Site::Here()) {
  return Shuffle(value, site, [mask](uint32_t i) { return i ^ mask; });
}
template <class T>
T simd_shuffle_down(T value, uint32_t delta, Site site = Site::Here()) {
  return Shuffle(value, site, [delta](uint32_t i) { return i + delta; });
}
template <class T>
T simd_shuffle_up(T value, uint32_t delta, Site site = Site::Here()) {
  return Shuffle(value, site, [delta](uint32_t i) { return i - delta; });
}
/** `lane` is the same for all lanes. */
template <class T>
T simd_broadcast(T value, uint32_t lane, Site site = Site::Here()) {
  return Shuffle(value, site, [lane](uint32_t) { return lane; });
}
template <class T>
T simd_prefix_exclusive_sum(T value, Site site = Site::Here()) {
  const uint32_t lanes = worker->lanes();
  return worker->Collective<T>(value, site, [&](const T* values, T* results) {
    T sum{};
    for (uint32_t i = 0; i < lanes; i++) {
      results[i] = sum;
      sum = static_cast<T>(sum + values[i]);
    }
  });
}

/** Each lane names the lane whose value it wants. */
template <class T>
T simd_shuffle(T value, uint32_t lane, Site site = Site::Here()) {
  struct Wish {
    T value;
    uint32_t lane;
  };
  const uint32_t lanes = worker->lanes();
  return worker->Collective<T>(Wish{value, lane}, site, [&](const Wish* wishes, T* results) {
    for (uint32_t i = 0; i < lanes; i++) results[i] = wishes[wishes[i].lane % lanes].value;
  });
}

/** Bit i is lane i's predicate. */
inline uint32_t ballot(bool predicate, Site site = Site::Here()) {
  const uint32_t bit = predicate ? 1u : 0u;
  const uint32_t lanes = worker->lanes();
  return worker->Collective<uint32_t>(bit, site, [&](const uint32_t* values, uint32_t* results) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < lanes; i++) bits |= values[i] << i;
    std::fill(results, results + lanes, bits);
  });
}

inline void group_barrier(Site site = Site::Here()) {
  worker->GroupBarrier(site);
}
inline void group_device_barrier(Site site = Site::Here()) {
  worker->GroupBarrier(site);
}
inline void lanes_barrier(Site site = Site::Here()) {
  worker->SimdBarrier(site);
}

/** Threadgroup memory of a kernel's own; declared by all threads alike. */
template <class T>
ThreadgroupPointer<T> AllocateThreadgroup(size_t count) {
  return {worker->AllocateThreadgroup(count * sizeof(T)), &worker->threadgroup_memory()};
}

struct atomic_uint {
  uint32_t value;
};

inline void atomic_set(ThreadgroupPointer<atomic_uint> p, uint32_t value) {
  p[0] = atomic_uint{value};
}
/** The sum before. */
inline uint32_t atomic_add(ThreadgroupPointer<atomic_uint> p, uint32_t value) {
  worker->threadgroup_memory().Touch(p.address(), sizeof(uint32_t));
  auto* target = reinterpret_cast<uint32_t*>(p.address());
  const uint32_t before = *target;
  *target = before + value;
  return before;
}
/** For use after a barrier. */
inline uint32_t atomic_get(ThreadgroupPointer<atomic_uint> p) {
  return atomic_uint(p[0]).value;
}

}  // namespace anllm::soft
