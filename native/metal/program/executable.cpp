#include "executable.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../../error.h"
#include "../../program/validate.h"
#include "counting_commands.h"

namespace anllm::metal {
namespace {

const program::Program& Validated(const program::Program& program) {
  program::Validate(program);
  return program;
}

std::string Mebibytes(size_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

/** A GPU that is given more than it works with stops in the middle of an answer, or waits for the disk. */
void ExpectRoom(const Device& device, const std::vector<const Buffer*>& buffers) {
  size_t bytes = 0;
  for (const Buffer* buffer : buffers) bytes += buffer->size();
  if (bytes <= device.working_bytes()) return;
  throw Error("unavailable", "[metal] the model and its context take " + Mebibytes(bytes) + ", " +
                                 device.name() + " works with " + Mebibytes(device.working_bytes()) +
                                 "; use a smaller model or context");
}

uint8_t* At(const BufferView& view) {
  return view.buffer->contents() + view.offset;
}

}  // namespace

int64_t CountDispatches(StepEncoder& encoder, const program::Limits& limits, int64_t rows, int64_t position) {
  std::vector<int32_t> tokens(static_cast<size_t>(rows), 0);
  std::vector<int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(position));
  const int32_t last = static_cast<int32_t>(rows) - 1;
  const int32_t offsets[] = {0, static_cast<int32_t>(rows)};
  const int32_t slot = 0;
  const std::vector<int32_t> table(static_cast<size_t>((position + rows) / BLOCK_TOKENS + 1), 0);
  Step step{};
  step.tokens = rows;
  step.logit_rows = 1;
  step.sequences = 1;
  step.token_ids = tokens.data();
  step.positions = positions.data();
  step.offsets = offsets;
  step.sequence_of = tokens.data();
  step.block_tables = table.data();
  step.blocks_per_sequence = static_cast<int64_t>(table.size());
  step.gathered_rows = &last;
  step.state_slots = &slot;
  StepInput input(encoder.device(), limits, true);
  program::Draws draws;
  const double greedy[program::kDrawFields] = {1, 0, 0, 1, 0, 0, 0, -1};
  draws.Assign({.fields = greedy, .num_fields = program::kDrawFields, .columns = 1}, 1, 1);
  input.Assign(step, draws);
  CountingCommands commands;
  encoder.Encode(input, commands);
  return commands.dispatches;
}

Executable::Executable(std::unique_ptr<Device> device, const program::Program& program,
                       const std::vector<weights::WeightSource>& sources, const Options& options)
    : device_(std::move(device)),
      vocab_size_(program.vocab_size),
      kv_blocks_(options.limits.kv_blocks),
      weights_(*device_, Validated(program), sources, options.weights),
      bound_(Bind(*device_, program, weights_, options.limits, options.numbers)),
      input_(*device_, options.limits, options.has_decode_attention),
      encoder_(*device_, bound_),
      batch_(options.limits, program.vocab_size, BLOCK_TOKENS),
      state_count_(program.state_layers.empty() ? 0 : options.limits.state_slots),
      states_(static_cast<size_t>(state_count_)) {
  ExpectRoom(*device_, Buffers());
  weights_.Read();
  for (const Command& command : bound_.commands) bytes_per_token_ += command.weight_bytes;
  // What no kernel has is found now, not in the middle of an answer; and pipelines are there before the
  // first.
  CountDispatches(encoder_, options.limits, 1, 0);
  CountDispatches(encoder_, options.limits, std::min<int64_t>(2, options.limits.max_tokens), 0);
  CountDispatches(encoder_, options.limits, options.limits.max_tokens, 0);
  device_->SavePipelines();
  device_->KeepResident(Buffers());
}

Executable::~Executable() {
  // Before the memory goes that the GPU was told to keep.
  device_->EndResidency();
}

void Executable::Assign(const program::BatchView& batch, const program::DrawsView& draws) {
  batch_.Assign(batch);
  draws_.Assign(draws, batch.logit_rows.size, vocab_size_);
  states_.Check(batch);
}

std::vector<const Buffer*> Executable::Buffers() const {
  std::vector<const Buffer*> buffers;
  for (const std::unique_ptr<Buffer>& buffer : weights_.buffers()) buffers.push_back(buffer.get());
  for (const std::unique_ptr<Buffer>& buffer : bound_.buffers) buffers.push_back(buffer.get());
  return buffers;
}

bool Executable::Run(const std::atomic<bool>& cancelled) {
  const Step step = batch_.AsStep();
  input_.Assign(step, draws_);
  states_.Begin(step);
  bool is_complete = false;
  device_->InScope([&] { is_complete = RunOrRetry(cancelled); });
  if (!is_complete) return false;
  states_.Commit(step);
  return true;
}

bool Executable::RunOrRetry(const std::atomic<bool>& cancelled) {
  try {
    return encoder_.Run(input_, cancelled);
  } catch (const GpuStopped&) {
    encoder_.Restart();
    // Keys and values are written again as they were; a recurrent state has gone on from what it was.
    if (!bound_.state_layers.empty()) throw;
  }
  try {
    return encoder_.Run(input_, cancelled);
  } catch (const GpuStopped& error) {
    encoder_.Restart();
    throw GpuStopped(std::string(error.what()) + " (twice); ask again, or use --backend cpu");
  }
}

const float* Executable::logits() const {
  return reinterpret_cast<const float*>(bound_.logits.buffer->contents() + bound_.logits.offset);
}

const int32_t* Executable::drawn() const {
  return reinterpret_cast<const int32_t*>(bound_.drawn.buffer->contents());
}

program::HiddenStates Executable::hidden() const {
  const BufferView& view = bound_.hidden;
  if (view.buffer == nullptr) return {nullptr, 0, 0};
  return {reinterpret_cast<const float*>(view.buffer->contents() + view.offset), batch_.AsStep().tokens,
          bound_.hidden_cols};
}

program::BlockMemory Executable::blocks() const {
  std::vector<program::BlockPart> parts;
  for (const KvMemory& layer : bound_.kv_layers) {
    parts.push_back({At(layer.operand.keys), layer.key_bytes});
    parts.push_back({At(layer.operand.values), layer.value_bytes});
  }
  return {std::move(parts), kv_blocks_};
}

program::BlockMemory Executable::states() const {
  std::vector<program::BlockPart> parts;
  for (const StateMemory& layer : bound_.state_layers) {
    parts.push_back({At(layer.operand.inputs), layer.input_bytes});
    parts.push_back({At(layer.operand.matrices), layer.matrix_bytes});
  }
  return {std::move(parts), state_count_};
}

}  // namespace anllm::metal
