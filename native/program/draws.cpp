#include "draws.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "../error.h"

namespace anllm::program {
namespace {

/** Seeds and indices are integers that a double holds. */
constexpr double kMaxInteger = 9007199254740991.0;

[[noreturn]] void Fail(const char* what, double got, const std::string& expected) {
  throw BadRequest(std::string("[step] ") + what + ": got " + std::to_string(got) + ", expected " + expected);
}

double InRange(const char* what, double got, double low, double high) {
  // NaN is in no range.
  if (got >= low && got <= high) return got;
  Fail(what, got, std::to_string(low) + " to " + std::to_string(high));
}

int64_t Integer(const char* what, double got, double low) {
  if (InRange(what, got, low, kMaxInteger) != std::floor(got)) Fail(what, got, "an integer");
  return static_cast<int64_t>(got);
}

}  // namespace

void Draws::Assign(const DrawsView& view, int64_t logit_rows, int64_t vocab_size) {
  rows_.clear();
  masks_.clear();
  columns_ = view.columns;
  if (view.num_fields == 0) return;
  if (view.columns < 1 || view.columns > vocab_size) {
    throw BadRequest("[step] columns: got " + std::to_string(view.columns) + ", expected 1 to " +
                     std::to_string(vocab_size));
  }
  if (view.num_fields != logit_rows * kDrawFields) {
    throw BadRequest("[step] draws: got " + std::to_string(view.num_fields) + " numbers, expected " +
                     std::to_string(logit_rows * kDrawFields));
  }
  if (view.mask_words % words() != 0) {
    throw BadRequest("[step] masks: got " + std::to_string(view.mask_words) +
                     " words, expected a multiple of " + std::to_string(words()));
  }
  masks_.assign(view.masks, view.masks + view.mask_words);
  const double masks = static_cast<double>(view.mask_words / words());
  for (int64_t row = 0; row < logit_rows; row++) {
    const double* fields = view.fields + row * kDrawFields;
    Draw draw{.is_wanted = fields[0] != 0,
              .temperature = static_cast<float>(InRange("temperature", fields[1], 0, 1e6)),
              .top_k = Integer("topK", fields[2], 0),
              .top_p = InRange("topP", fields[3], 0, 1),
              .min_p = InRange("minP", fields[4], 0, 1),
              .seed = static_cast<uint64_t>(Integer("seed", fields[5], -kMaxInteger)),
              .index = static_cast<uint64_t>(Integer("index", fields[6], 0)),
              .allowed = nullptr};
    const double mask = InRange("mask", fields[7], -1, masks - 1);
    if (mask >= 0) draw.allowed = masks_.data() + static_cast<int64_t>(mask) * words();
    rows_.push_back(draw);
  }
}

bool Draws::any() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const Draw& draw) { return draw.is_wanted; });
}

}  // namespace anllm::program
