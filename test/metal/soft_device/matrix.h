/** Metal's 8 × 8 matrices, two elements a lane. */
#pragma once

#include "simd.h"
#include "vector.h"

namespace anllm::soft {

/** Row of a lane's elements; the second one stands to the right of the first. The layout of Apple's GPUs. */
inline uint32_t fragment_row(uint32_t lane) {
  return lane / 16 * 4 + lane / 2 % 4;
}
inline uint32_t fragment_column(uint32_t lane) {
  return lane / 8 % 2 * 4 + lane % 2 * 2;
}

/** The lanes that hold one row differ in these bits. */
enum { FRAGMENT_ROW_BIT_0 = 1, FRAGMENT_ROW_BIT_1 = 8 };

template <class T, int kColumns, int kRows>
class simdgroup_matrix {
  static_assert(kColumns == 8 && kRows == 8);

 public:
  vec<T, 2>& thread_elements() { return elements_; }
  const vec<T, 2>& thread_elements() const { return elements_; }

 private:
  vec<T, 2> elements_;
};

template <class T>
void simdgroup_fill(simdgroup_matrix<T, 8, 8>& matrix, T value) {
  matrix.thread_elements() = {value, value};
}

inline uint32_t CurrentLane() {
  return worker->moment().thread % kSimdWidth;
}

template <class T, class P>
void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix, P source, uint32_t stride) {
  const auto row = source + fragment_row(CurrentLane()) * stride + fragment_column(CurrentLane());
  matrix.thread_elements() = {T(row[0]), T(row[1])};
}

template <class T, class P>
void simdgroup_load_transposed(simdgroup_matrix<T, 8, 8>& matrix, P source, uint32_t stride) {
  const auto column = source + fragment_column(CurrentLane()) * stride + fragment_row(CurrentLane());
  matrix.thread_elements() = {T(column[0]), T(column[stride])};
}

template <class T, class P>
void simdgroup_store(const simdgroup_matrix<T, 8, 8>& matrix, P target, uint32_t stride) {
  const auto row = target + fragment_row(CurrentLane()) * stride + fragment_column(CurrentLane());
  row[0] = matrix.thread_elements().x;
  row[1] = matrix.thread_elements().y;
}

/** d = a · b + c; products and sums in float32, in the order of the columns of a. */
template <class A, class D>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                   const simdgroup_matrix<A, 8, 8>& b, const simdgroup_matrix<D, 8, 8>& c,
                                   Site site = Site::Here()) {
  struct Operands {
    vec<float, 2> a, b;
  };
  const Operands mine = {{a.thread_elements().x, a.thread_elements().y},
                         {b.thread_elements().x, b.thread_elements().y}};
  const auto product = worker->Collective<float2>(mine, site, [](const Operands* operands, float2* products) {
    float left[8][8], right[8][8], sums[8][8] = {};
    for (uint32_t lane = 0; lane < kSimdWidth; lane++) {
      const uint32_t row = fragment_row(lane), column = fragment_column(lane);
      left[row][column] = operands[lane].a.x;
      left[row][column + 1] = operands[lane].a.y;
      right[row][column] = operands[lane].b.x;
      right[row][column + 1] = operands[lane].b.y;
    }
    for (int row = 0; row < 8; row++) {
      for (int k = 0; k < 8; k++) {
        for (int column = 0; column < 8; column++) sums[row][column] += left[row][k] * right[k][column];
      }
    }
    for (uint32_t lane = 0; lane < kSimdWidth; lane++) {
      const uint32_t row = fragment_row(lane), column = fragment_column(lane);
      products[lane] = {sums[row][column], sums[row][column + 1]};
    }
  });
  d.thread_elements() = {D(c.thread_elements().x + product.x), D(c.thread_elements().y + product.y)};
}

inline void multiply_integers(simdgroup_matrix<float, 8, 8>& first, simdgroup_matrix<float, 8, 8>& second,
                              const simdgroup_matrix<float, 8, 8>& a, const simdgroup_matrix<float, 8, 8>& b,
                              const simdgroup_matrix<float, 8, 8>& right, Site site = Site::Here()) {
  simdgroup_multiply_accumulate(first, a, right, first, site);
  simdgroup_multiply_accumulate(second, b, right, second, site);
}

inline void multiply_pair(simdgroup_matrix<float, 8, 8>& sums, const simdgroup_matrix<half, 8, 8>& a,
                          const simdgroup_matrix<half, 8, 8>& b, const simdgroup_matrix<half, 8, 8>& one,
                          const simdgroup_matrix<half, 8, 8>& two, Site site = Site::Here()) {
  simdgroup_multiply_accumulate(sums, a, one, sums, site);
  simdgroup_multiply_accumulate(sums, b, two, sums, site);
}

inline void multiply_two(simdgroup_matrix<float, 8, 8>& first, simdgroup_matrix<float, 8, 8>& second,
                         const simdgroup_matrix<half, 8, 8> (&left)[4],
                         const simdgroup_matrix<half, 8, 8>& one, const simdgroup_matrix<half, 8, 8>& two,
                         Site site = Site::Here()) {
  simdgroup_multiply_accumulate(first, left[0], one, first, site);
  simdgroup_multiply_accumulate(second, left[1], one, second, site);
  simdgroup_multiply_accumulate(first, left[2], two, first, site);
  simdgroup_multiply_accumulate(second, left[3], two, second, site);
}

}  // namespace anllm::soft
