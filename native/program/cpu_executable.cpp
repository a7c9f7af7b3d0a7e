#include "cpu_executable.h"

#include "../kernels/scratch.h"
#include "validate.h"

namespace anllm::program {
namespace {

/** Bytes of the experts that one token is sent to. */
int64_t ChosenBytes(const ExpertWeights& weights, int64_t experts, int64_t top_k) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < experts / weights.experts_per_matrix; i++)
    bytes += weights::PackedBytes(weights.matrices[i]);
  return bytes / experts * top_k + weights::PackedBytes(weights.shared);
}

int64_t CountBytesPerToken(const std::vector<BoundOp>& ops) {
  int64_t bytes = 0;
  for (const BoundOp& op : ops) {
    if (const auto* embed = std::get_if<EmbedOp>(&op)) bytes += embed->weight.block_bytes / kBlockRows;
    if (const auto* glu = std::get_if<GluOp>(&op)) {
      bytes += weights::PackedBytes(glu->gate) + weights::PackedBytes(glu->up);
    }
    if (const auto* route = std::get_if<MoeRouteOp>(&op)) bytes += weights::PackedBytes(route->router);
    if (const auto* moe = std::get_if<MoeLinearOp>(&op)) {
      bytes += ChosenBytes(moe->weights, moe->experts, moe->top_k);
    }
    if (const auto* moe = std::get_if<MoeGluOp>(&op)) {
      bytes += ChosenBytes(moe->gate, moe->experts, moe->top_k);
      bytes += ChosenBytes(moe->up, moe->experts, moe->top_k);
    }
    if (const auto* linear = std::get_if<LinearOp>(&op)) {
      for (int64_t i = 0; i < linear->num_parts; i++) bytes += weights::PackedBytes(linear->parts[i].weight);
    }
  }
  return bytes;
}

bool PreparesAttention(const BoundOp& op) {
  return std::holds_alternative<AttentionPrepareOp>(op) || std::holds_alternative<LatentPrepareOp>(op) ||
         std::holds_alternative<KvWriteOp>(op) || std::holds_alternative<GatedDeltaOp>(op);
}

/** The first op of a part of the model: what comes before it is another part. */
bool ReadsResidualStream(const BoundOp& op) {
  if (std::holds_alternative<NormOp>(op)) return true;
  const auto* linear = std::get_if<LinearOp>(&op);
  if (linear != nullptr) {
    return linear->input.norm != nullptr || linear->input.join != nullptr || linear->residual != nullptr;
  }
  return std::holds_alternative<GluOp>(op) || std::holds_alternative<MoeRouteOp>(op);
}

void SetPlanesOf(BoundOp* op, int planes) {
  const auto set = [planes](int* of_op) {
    if (*of_op > 0) *of_op = planes;
  };
  if (auto* linear = std::get_if<LinearOp>(op)) set(&linear->planes);
  if (auto* glu = std::get_if<GluOp>(op)) set(&glu->planes);
  if (auto* moe = std::get_if<MoeLinearOp>(op)) set(&moe->planes);
  if (auto* moe = std::get_if<MoeGluOp>(op)) set(&moe->planes);
}

/** Lets workers sleep when the step ends, however it ends. */
class ActivePool {
 public:
  explicit ActivePool(ThreadPool* pool) : pool_(*pool) { pool_.BeginStep(); }
  ~ActivePool() { pool_.EndStep(); }
  ActivePool(const ActivePool&) = delete;
  ActivePool& operator=(const ActivePool&) = delete;

 private:
  ThreadPool& pool_;
};

weights::Packing PackingOf(const CpuOptions& options) {
  if (options.force_dequantized) return weights::Packing::kFloats;
  return options.is_fast ? weights::Packing::kFast : weights::Packing::kExact;
}

const Program& Validated(const Program& program) {
  Validate(program);
  return program;
}

}  // namespace

CpuExecutable::CpuExecutable(const Program& program, const std::vector<weights::WeightSource>& sources,
                             const CpuOptions& options)
    : kernels_(*options.kernels),
      pool_(options.threads),
      weights_(weights::Load(Validated(program).weights, sources, &pool_, PackingOf(options),
                             options.packed_file)),
      kv_(program.kv_layers, options.limits.kv_blocks, options.kv_format),
      states_(program.state_layers, options.limits.state_slots),
      bound_(Bind(program, weights_, kv_, states_, options.limits,
                  {options.is_fast ? 1 : 0, options.decode_attention}, options.threads)),
      batch_(options.limits, program.vocab_size, kKvBlock),
      bytes_per_token_(CountBytesPerToken(bound_.ops)),
      vocab_size_(program.vocab_size) {}

void CpuExecutable::Assign(const BatchView& batch, const DrawsView& draws) {
  batch_.Assign(batch);
  draws_.Assign(draws, batch.logit_rows.size, vocab_size_);
  states_.Check(batch);
}

void CpuExecutable::SetPlanes(int attention, int others) {
  bool feeds_attention = false;
  for (auto op = bound_.ops.rbegin(); op != bound_.ops.rend(); ++op) {
    if (PreparesAttention(*op)) feeds_attention = true;
    SetPlanesOf(&*op, feeds_attention ? attention : others);
    if (ReadsResidualStream(*op)) feeds_attention = false;
  }
}

bool CpuExecutable::Run(const std::atomic<bool>& cancelled) {
  Step step = batch_.AsStep();
  step.pool = &pool_;
  step.threads = pool_.threads();
  step.scratch = bound_.scratch;
  step.thread_scratch = bound_.thread_scratch;
  step.thread_scratch_bytes = bound_.thread_scratch_bytes;
  const ActivePool active(&pool_);
  states_.Begin(step);
  bound_.ropes.Fill(step.positions, step.tokens, &pool_);
  for (const BoundOp& op : bound_.ops) {
    if (cancelled.load(std::memory_order_relaxed)) return false;
    RunOp(op, step);
  }
  states_.Commit(step);
  if (draws_.any()) DrawTokens(step);
  return true;
}

void CpuExecutable::DrawTokens(const Step& step) {
  drawn_.resize(draws_.rows().size());
  const auto bytes = static_cast<size_t>(SampleThreadBytes(vocab_size_) * step.threads);
  if (draw_memory_.size() == 0) draw_memory_ = AlignedBuffer(bytes, "drawing tokens");
  kernels_.sample({.logits = bound_.logits,
                   .stride = vocab_size_,
                   .columns = draws_.columns(),
                   .draws = draws_.rows().data(),
                   .ids = drawn_.data(),
                   .memory = draw_memory_.data()},
                  step);
}

void CpuExecutable::RunOp(const BoundOp& op, const Step& step) const {
  struct Runner {
    const Kernels& kernels;
    const Step& step;
    void operator()(const EmbedOp& o) const { kernels.embed(o, step); }
    void operator()(const NormOp& o) const { kernels.norm(o, step); }
    void operator()(const LinearOp& o) const { kernels.linear(o, step); }
    void operator()(const GluOp& o) const { kernels.glu(o, step); }
    void operator()(const ActivationOp& o) const { kernels.activation(o, step); }
    void operator()(const RopeOp& o) const { kernels.rope(o, step); }
    void operator()(const KvWriteOp& o) const { kernels.kv_write(o, step); }
    void operator()(const AttentionPrepareOp& o) const { kernels.attention_prepare(o, step); }
    void operator()(const LatentPrepareOp& o) const { kernels.latent_prepare(o, step); }
    void operator()(const AttentionOp& o) const { kernels.attention(o, step); }
    void operator()(const GatedDeltaOp& o) const { kernels.gated_delta(o, step); }
    void operator()(const MoeRouteOp& o) const { kernels.moe_route(o, step); }
    void operator()(const MoeLinearOp& o) const { kernels.moe_linear(o, step); }
    void operator()(const MoeGluOp& o) const { kernels.moe_glu(o, step); }
    void operator()(const AddOp& o) const { kernels.add(o, step); }
    void operator()(const ScaleOp& o) const { kernels.scale(o, step); }
    void operator()(const GatherRowsOp& o) const { kernels.gather_rows(o, step); }
  };
  std::visit(Runner{kernels_, step}, op);
}

}  // namespace anllm::program

namespace anllm {

void ParallelFor(ThreadPool* pool, int64_t count, void (*task)(void*, int64_t, int), void* context) {
  pool->ParallelFor(count, task, context);
}

}  // namespace anllm
