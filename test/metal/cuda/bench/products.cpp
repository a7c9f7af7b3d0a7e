#include "product_shapes.h"

namespace anllm::cuda {

using namespace metal;

Layout LayoutOf(size_t rows, size_t columns) {
  constexpr size_t kAlign = 256;
  const size_t codes = rows * columns / 2;
  const size_t scales = rows * columns / 64 * 2;
  return {codes, scales, (codes + 2 * scales + kAlign - 1) / kAlign * kAlign};
}

Matrix MatrixAt(const std::unique_ptr<Buffer>& pool, size_t offset, uint32_t rows, uint32_t columns) {
  const Layout layout = LayoutOf(rows, columns);
  return {.rows = rows,
          .columns = columns,
          .type = DTYPE_AFFINE,
          .data = ViewOf(pool, offset, layout.codes),
          .bits = 4,
          .group_size = 64,
          .scale_type = DTYPE_BF16,
          .scales = ViewOf(pool, offset + layout.codes, layout.scales),
          .biases = ViewOf(pool, offset + layout.codes + layout.scales, layout.scales)};
}

Product::Product(Bench& bench, const ProductShape& shape, uint32_t batch)
    : bench_(bench),
      shape_(shape),
      batch_(batch),
      layout_(LayoutOf(shape.rows(), shape.columns)),
      copies_(bench.pool->size() / layout_.bytes) {
  const bool has_halves = shape.role == Role::kResidual;
  x_ = RandomBuffer(bench.device, size_t{batch} * shape.columns * (has_halves ? 2 : 4),
                    has_halves ? kHalves : kFloats);
  norm_ = RandomBuffer(bench.device, size_t{shape.columns} * 4, kFloats);
  residual_ = RandomBuffer(bench.device, size_t{batch} * shape.outputs * 4, kFloats);
  out_ = bench.device.NewBuffer(size_t{batch} * shape.outputs * 4);
}

LinearOperand Product::At(size_t i) const {
  const bool has_residual = shape_.role == Role::kResidual;
  const bool is_glu = shape_.role == Role::kGlu;
  LinearOperand op{.rows = batch_,
                   .x = {ViewOf(x_), has_residual ? DTYPE_F16 : DTYPE_F32},
                   .weight = MatrixAt(bench_.pool, i * layout_.bytes, shape_.rows(), shape_.columns),
                   .out = {ViewOf(out_), has_residual || shape_.role == Role::kHead ? DTYPE_F32 : DTYPE_F16},
                   .outputs = shape_.outputs,
                   .activation = is_glu ? ACTIVATION_SILU : ACTIVATION_NONE,
                   .is_glu = is_glu,
                   .up_offset = shape_.outputs,
                   .is_fast = true};
  if (has_residual) {
    op.residual = ViewOf(residual_);
  } else {
    op.norm = {.kind = NORM_RMS, .weight = ViewOf(norm_), .eps = 1e-6f};
  }
  return op;
}

void BenchProducts(Bench& bench) {
  for (const ProductShape& shape : kProductShapes) {
    for (const uint32_t batch : {1u, 2u, 4u, 8u}) {
      const std::string what =
          std::string(shape.what) + ", " + std::to_string(batch) + (batch == 1 ? " row" : " rows");
      if (!bench.Wants(shape.model, what)) continue;
      const Product product(bench, shape, batch);
      const Times times = TimesOf(bench, product.copies(), [&](Dispatcher& dispatcher, size_t i) {
        Linear(dispatcher, product.At(i), {});
      });
      PrintRow(bench, shape.model, what, product.bytes(), times);
    }
  }
}

void BenchExperts(Bench& bench) {
  constexpr uint32_t kExperts = 128, kChosen = 8, kHidden = 2048, kWidth = 768;
  const auto x = RandomBuffer(bench.device, kHidden * 4, kFloats);
  const auto norm = RandomBuffer(bench.device, kHidden * 4, kFloats);
  const auto slots = RandomBuffer(bench.device, kChosen * kWidth * 2, kHalves);
  const auto out = bench.device.NewBuffer(kHidden * 4);
  for (const bool is_reduce : {false, true}) {
    const std::string what = is_reduce ? "8 experts, down" : "8 experts, gate/up";
    if (!bench.Wants("30B-A3B", what)) continue;
    const uint32_t expert_rows = is_reduce ? kHidden : kWidth;
    const uint32_t columns = is_reduce ? kWidth : kHidden;
    const uint32_t rows = kExperts * expert_rows * (is_reduce ? 1 : 2);
    const Layout layout = LayoutOf(rows, columns);
    const size_t copies = bench.pool->size() / layout.bytes;
    // Each pass over the copies takes other experts.
    constexpr uint32_t kPasses = kExperts / kChosen;
    std::vector<std::unique_ptr<Buffer>> routes;
    for (uint32_t pass = 0; pass < kPasses; pass++) {
      routes.push_back(bench.device.NewBuffer((2 * kChosen + 1) * 4));
      auto* route = reinterpret_cast<float*>(routes.back()->contents());
      for (uint32_t i = 0; i < kChosen; i++) route[i] = static_cast<float>(i * kPasses + pass);
      static_cast<CudaBuffer&>(*routes.back()).Upload();
    }
    const Times times = TimesOf(bench, copies * kPasses, [&](Dispatcher& dispatcher, size_t i) {
      ExpertsOperand op{.rows = 1,
                        .route = ViewOf(routes[i / copies]),
                        .experts = kExperts,
                        .top_k = kChosen,
                        .is_reduce = is_reduce,
                        .weight = MatrixAt(bench.pool, i % copies * layout.bytes, rows, columns),
                        .expert_rows = expert_rows};
      if (is_reduce) {
        op.x = {ViewOf(slots), DTYPE_F16, kChosen * kWidth};
        op.residual = ViewOf(x);
        op.out = {ViewOf(out), DTYPE_F32, kHidden};
        return MoeReduce(dispatcher, op, {});
      }
      op.x = {ViewOf(x), DTYPE_F32, kHidden};
      op.norm = {.kind = NORM_RMS, .weight = ViewOf(norm), .eps = 1e-6f};
      op.is_glu = true;
      op.up_offset = kExperts * kWidth;
      op.activation = ACTIVATION_SILU;
      op.out = {ViewOf(slots), DTYPE_F16, kChosen * kWidth};
      MoeExpand(dispatcher, op, {});
    });
    PrintRow(bench, "30B-A3B", what, layout.read() * kChosen / kExperts, times);
  }
}

}  // namespace anllm::cuda
