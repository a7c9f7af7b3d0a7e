#include "bind.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../../aligned_buffer.h"
#include "../../error.h"
#include "../../program/operands.h"
#include "binder.h"
#include "value_types.h"

namespace anllm::metal {
namespace {

size_t ElementBytes(DType type) {
  return type == DTYPE_F32 ? 4 : 2;
}

/** Of one head's keys or values in a block: see metal/paging.h. */
size_t HeadBytes(DType type, int64_t dim) {
  const auto columns = static_cast<uint32_t>(dim);
  const size_t token_bytes =
      type == DTYPE_I8 ? columns + code_groups(columns) * sizeof(float) : columns * ElementBytes(type);
  return BLOCK_TOKENS * token_bytes;
}

BufferView Allocate(Device& device, size_t bytes, BoundProgram* bound) {
  bound->buffers.push_back(device.NewBuffer(std::max<size_t>(bytes, 16)));
  return {bound->buffers.back().get(), 0, bytes};
}

void AllocateLayers(Device& device, const program::Program& program, const program::Limits& limits,
                    DType kv_type, BoundProgram* bound) {
  for (const program::KvLayerSpec& spec : program.kv_layers) {
    const auto heads = static_cast<size_t>(spec.kv_heads);
    KvMemory memory;
    memory.key_bytes = heads * HeadBytes(kv_type, spec.key_dim);
    memory.value_bytes = heads * HeadBytes(kv_type, spec.value_dim);
    const auto blocks = static_cast<size_t>(limits.kv_blocks);
    memory.operand = {.keys = Allocate(device, blocks * memory.key_bytes, bound),
                      .values = Allocate(device, blocks * memory.value_bytes, bound),
                      .type = kv_type,
                      .kv_heads = static_cast<uint32_t>(spec.kv_heads),
                      .key_dim = static_cast<uint32_t>(spec.key_dim),
                      .value_dim = static_cast<uint32_t>(spec.value_dim)};
    bound->kv_layers.push_back(memory);
  }
  for (const program::StateLayerSpec& spec : program.state_layers) {
    const auto slots = static_cast<size_t>(limits.state_slots);
    StateMemory memory;
    memory.input_bytes = static_cast<size_t>((spec.taps - 1) * spec.Channels()) * sizeof(float);
    memory.matrix_bytes =
        static_cast<size_t>(spec.value_heads * spec.key_dim * spec.value_dim) * sizeof(float);
    memory.operand = {.inputs = Allocate(device, slots * memory.input_bytes, bound),
                      .matrices = Allocate(device, slots * memory.matrix_bytes, bound),
                      .key_heads = static_cast<uint32_t>(spec.key_heads),
                      .value_heads = static_cast<uint32_t>(spec.value_heads),
                      .key_dim = static_cast<uint32_t>(spec.key_dim),
                      .value_dim = static_cast<uint32_t>(spec.value_dim),
                      .taps = static_cast<uint32_t>(spec.taps),
                      .tiled = spec.tiled};
    bound->state_layers.push_back(memory);
  }
}

/** The most that any command needs for any number of rows. */
ScratchBytes MostScratch(const std::vector<Command>& commands, const program::Limits& limits) {
  ScratchBytes most;
  for (const Command& command : commands) {
    if (!command.scratch) continue;
    const int64_t rows = command.rows == Rows::kTokens ? limits.max_tokens : limits.max_logit_rows;
    for (int64_t row_count = 1; row_count <= rows; row_count++) {
      const ScratchBytes bytes = command.scratch(static_cast<uint32_t>(row_count));
      most.normalized = std::max(most.normalized, bytes.normalized);
      most.parts = std::max(most.parts, bytes.parts);
      most.products = std::max(most.products, bytes.products);
    }
  }
  return most;
}

/** Places of the attention_prepares that run with the attention after them: nothing else reads their queries.
 */
std::set<int64_t> JoinedAttentions(const program::Program& program) {
  std::vector<int> readers(program.values.size());
  for (const program::Instruction& instruction : program.instructions) {
    for (const program::ValueId id : program::InputsOf(instruction)) readers[static_cast<size_t>(id)]++;
  }
  std::set<int64_t> joined;
  for (size_t i = 0; i + 1 < program.instructions.size(); i++) {
    const auto* prepare = std::get_if<program::AttentionPrepare>(&program.instructions[i]);
    const auto* attention = std::get_if<program::Attention>(&program.instructions[i + 1]);
    if (prepare == nullptr || attention == nullptr || attention->q != prepare->out) continue;
    if (readers[static_cast<size_t>(prepare->out)] == 1 && prepare->layer == attention->layer) {
      joined.insert(static_cast<int64_t>(i));
    }
  }
  return joined;
}

/** Draws from the logits of those rows of a step that want it. */
Command SampleCommand(const BufferView& logits, int64_t vocab_size, const BufferView& drawn) {
  return {.rows = Rows::kLogits,
          .accesses = {.reads = {logits}, .writes = {drawn}},
          .encode = [=](const StepContext& c, uint32_t) {
            if (c.input.draws().count == 0) return;
            Sample(c.dispatcher, c.input.draws(), logits, static_cast<uint32_t>(vocab_size), drawn);
          }};
}

}  // namespace

BoundProgram Bind(Device& device, const program::Program& program, Weights& weights,
                  const program::Limits& limits, Numbers numbers) {
  BoundProgram bound;
  AllocateLayers(device, program, limits, numbers.kv_type, &bound);
  const std::set<int64_t> joined = JoinedAttentions(program);
  const program::Plan plan = program::PlanMemory(program, limits, joined);
  const BufferView arena = Allocate(device, static_cast<size_t>(plan.bytes), &bound);

  std::vector<Values> values;
  const std::vector<DType> types = ValueTypes(program, numbers.is_fast);
  for (size_t id = 0; id < program.values.size(); id++) {
    const program::ValueSpec& spec = program.values[id];
    const int64_t rows = spec.rows == Rows::kTokens ? limits.max_tokens : limits.max_logit_rows;
    const size_t bytes = static_cast<size_t>(rows * spec.cols) * ElementBytes(types[id]);
    values.push_back({.view = {arena.buffer, static_cast<size_t>(plan.offsets[id]), bytes},
                      .type = types[id],
                      .stride = static_cast<uint32_t>(spec.cols)});
  }
  Binder binder(program, weights, limits, values, bound.kv_layers, bound.state_layers, numbers.is_fast);
  const auto add_accesses = [&](const program::Instruction& instruction, Command* command) {
    for (const program::ValueId id : program::InputsOf(instruction))
      command->accesses.reads.push_back(values[static_cast<size_t>(id)].view);
    for (const program::ValueId id : program::OutputsOf(instruction))
      command->accesses.writes.push_back(values[static_cast<size_t>(id)].view);
  };
  for (size_t i = 0; i < program.instructions.size(); i++) {
    const program::Instruction& instruction = program.instructions[i];
    Command command;
    if (joined.contains(static_cast<int64_t>(i))) {
      const program::Instruction& next = program.instructions[++i];
      command = binder(std::get<program::AttentionPrepare>(instruction), std::get<program::Attention>(next));
      add_accesses(next, &command);
    } else {
      command = std::visit(binder, instruction);
    }
    add_accesses(instruction, &command);
    bound.commands.push_back(std::move(command));
  }
  bound.logits = values[static_cast<size_t>(program.logits)].view;
  bound.drawn = Allocate(device, static_cast<size_t>(limits.max_logit_rows) * sizeof(int32_t), &bound);
  bound.commands.push_back(SampleCommand(bound.logits, program.vocab_size, bound.drawn));
  if (program.hidden != program::kNone) {
    bound.hidden = values[static_cast<size_t>(program.hidden)].view;
    bound.hidden_cols = program.values[static_cast<size_t>(program.hidden)].cols;
  }

  const ScratchBytes scratch = MostScratch(bound.commands, limits);
  bound.scratch = {.normalized = Allocate(device, scratch.normalized, &bound),
                   .parts = Allocate(device, scratch.parts, &bound),
                   .products = Allocate(device, scratch.products, &bound)};
  for (Command& command : bound.commands) {
    if (!command.scratch) continue;
    command.accesses.writes.insert(command.accesses.writes.end(),
                                   {bound.scratch.normalized, bound.scratch.parts, bound.scratch.products});
  }
  return bound;
}

}  // namespace anllm::metal
