#include <cstdio>
#include <cstring>

#include "../../../../native/metal/linear_plan.h"
#include "product_shapes.h"

namespace anllm::cuda {

using namespace metal;

namespace {

void Print(const ProductShape& shape, const char* kind, const std::string& division, bool is_planned,
           const Times& times) {
  std::printf("%s %s %s: %.2f µs in turn, %.2f µs overlapping%s\n", shape.what, kind, division.c_str(),
              times.in_turn * 1e6, times.overlapping * 1e6, is_planned ? "  (planned)" : "");
  std::fflush(stdout);
}

void BenchVectors(Bench& bench, const ProductShape& shape) {
  const Product product(bench, shape, 1);
  const VectorShape plan = PlanVector(product.At(0), bench.device);
  for (const uint32_t lane_rows : {2u, 4u}) {
    for (uint32_t split = 1; split <= 8 && split * 256 <= shape.columns; split *= 2) {
      for (uint32_t simdgroups = std::max(split, 2u); simdgroups <= std::min(8u, 4 * split);
           simdgroups *= 2) {
        const VectorShape division{lane_rows, split, simdgroups};
        const Times times = TimesOf(bench, product.copies(), [&](Dispatcher& dispatcher, size_t i) {
          LinearVector(dispatcher, product.At(i), division);
        });
        Print(shape, "1 row",
              std::to_string(lane_rows) + " rows a lane, split " + std::to_string(split) + " of " +
                  std::to_string(simdgroups),
              std::memcmp(&plan, &division, sizeof(plan)) == 0, times);
      }
    }
  }
}

void BenchSlices(Bench& bench, const ProductShape& shape) {
  if (shape.role == Role::kGlu) return;
  const Product product(bench, shape, 1);
  const auto plan = PlanSlices(product.At(0), bench.device);
  const uint32_t slices = (shape.columns + 511) / 512;
  for (const uint32_t lane_rows : {4u, 8u}) {
    for (uint32_t rounds = 1; rounds <= 6; rounds++) {
      const SliceShape division{lane_rows, (slices + rounds - 1) / rounds, rounds};
      if (division.simdgroups > 16 || division.simdgroups < 2) continue;
      const Times times = TimesOf(bench, product.copies(), [&](Dispatcher& dispatcher, size_t i) {
        LinearSlices(dispatcher, product.At(i), division);
      });
      Print(shape, "1 row",
            std::to_string(lane_rows) + " rows a lane, " + std::to_string(rounds) + " slices of " +
                std::to_string(division.simdgroups) + " simdgroups",
            plan && std::memcmp(&*plan, &division, sizeof(division)) == 0, times);
    }
  }
}

void BenchParts(Bench& bench, const ProductShape& shape) {
  const bool is_plain = shape.role == Role::kResidual;
  if (!is_plain && shape.role != Role::kNormed) return;
  const Product product(bench, shape, 8);
  const auto plan = PlanParts(product.At(0), bench.device);
  for (uint32_t lane_rows = is_plain ? 2 : 3; lane_rows <= (is_plain ? 4 : 6); lane_rows++) {
    for (const uint32_t simdgroups : {8u, 10u, 12u, 13u, 14u, 16u}) {
      if (simdgroups < 2 * lane_rows) continue;
      const PartShape division{lane_rows, simdgroups};
      const Times times = TimesOf(bench, product.copies(), [&](Dispatcher& dispatcher, size_t i) {
        LinearParts(dispatcher, product.At(i), division);
      });
      Print(shape, "8 rows", std::to_string(lane_rows) + " tiles, " + std::to_string(simdgroups) + " parts",
            plan && std::memcmp(&*plan, &division, sizeof(division)) == 0, times);
    }
  }
}

void BenchBatches(Bench& bench, const ProductShape& shape) {
  const Product product(bench, shape, 8);
  const BatchShape plan = PlanBatch(product.At(0), bench.device);
  for (const uint32_t lane_rows : {2u, 4u}) {
    for (const uint32_t members : {1u, 2u, 4u}) {
      for (uint32_t split = 1; members * split <= 8; split *= 2) {
        const BatchShape division{lane_rows, members, split};
        const Times times = TimesOf(bench, product.copies(), [&](Dispatcher& dispatcher, size_t i) {
          LinearBatch(dispatcher, product.At(i), division);
        });
        Print(shape, "8 rows",
              std::to_string(lane_rows) + " tiles, " + std::to_string(members) + " members, split " +
                  std::to_string(split),
              std::memcmp(&plan, &division, sizeof(plan)) == 0, times);
      }
    }
  }
}

}  // namespace

void BenchShapes(Bench& bench) {
  for (const ProductShape& shape : kProductShapes) {
    if (std::strcmp(shape.model, "4B") != 0) continue;
    BenchVectors(bench, shape);
    BenchSlices(bench, shape);
    BenchParts(bench, shape);
    BenchBatches(bench, shape);
  }
}

}  // namespace anllm::cuda
