#include "binder.h"

#include <cmath>

#include "../../error.h"

namespace anllm::metal {
namespace {

static_assert(static_cast<int>(Activation::kSwigluOai) == ACTIVATION_SWIGLU_OAI);

ActivationKind KindOf(Activation activation) {
  return static_cast<ActivationKind>(activation);
}

float Single(double value) {
  return static_cast<float>(value);
}

uint32_t Count(int64_t value) {
  return static_cast<uint32_t>(value);
}

/** f / 2 pi as a fraction of 2^64, high word first. */
void AppendTurn(double frequency, std::vector<uint32_t>* words) {
  constexpr double kWord = 4294967296.0;
  constexpr double kTurn = 6.283185307179586476925286766559;
  const double turn = std::fmod(frequency / kTurn, 1.0) * kWord;
  const double high = std::floor(turn);
  words->push_back(static_cast<uint32_t>(high));
  words->push_back(static_cast<uint32_t>(std::floor((turn - high) * kWord)));
}

}  // namespace

Values Binder::Value(program::ValueId id) const {
  return id == program::kNone ? Values{} : values_[static_cast<size_t>(id)];
}

Values Binder::Part(const program::Columns& columns) const {
  Values part = Value(columns.value);
  part.column = Count(columns.column);
  return part;
}

NormOperand Binder::Norm(const program::NormSpec& spec) {
  return {.kind = spec.is_layer_norm ? NORM_LAYER : NORM_RMS,
          .weight = weights_.Vector(spec.weight),
          .bias = weights_.Vector(spec.bias),
          .eps = Single(spec.eps),
          .offset = Single(spec.offset)};
}

NormOperand Binder::Norm(const std::optional<program::NormSpec>& spec) {
  return spec ? Norm(*spec) : NormOperand{};
}

JoinOperand Binder::Join(const std::optional<program::JoinSpec>& spec) {
  if (!spec) return {};
  return {Norm(spec->norm), View(spec->residual), View(spec->sum)};
}

RopeOperand Binder::RopeOf(const program::RopeSpec& spec) {
  std::vector<uint32_t> words;
  for (const double frequency : spec.inverse_frequencies) AppendTurn(frequency, &words);
  return {.kind = spec.is_interleaved ? ROPE_INTERLEAVED : ROPE_HALF,
          .pairs = Count(static_cast<int64_t>(spec.inverse_frequencies.size())),
          .start = Count(spec.start),
          .scale = Single(spec.scale),
          .frequencies = weights_.Keep(words.data(), words.size() * sizeof(uint32_t))};
}

Command Binder::operator()(const program::Embed& i) {
  const Matrix weight = weights_.Rows({i.weight});
  const Values out = Value(i.out);
  const float scale = Single(i.scale);
  return {.encode = [=](const StepContext& c,
                        uint32_t) { Embed(c.dispatcher, c.input.step(), weight, scale, out); },
          .weight_bytes = BytesOf(weight) / weight.rows};
}

Command Binder::operator()(const program::Normalize& i) {
  const NormOperand norm = Norm(i.norm);
  const uint32_t columns = Cols(i.x);
  NormEpilogue epilogue{.residual = View(i.residual)};
  if (i.gate) {
    epilogue.gate = Part(i.gate->columns);
    epilogue.activation = KindOf(i.gate->activation);
  }
  return {.rows = RowsOf(i.x),
          .encode = [=, x = Value(i.x), out = Value(i.out), groups = Count(i.groups)](const StepContext& c,
                                                                                      uint32_t rows) {
            Normalize(c.dispatcher, rows, columns, groups, x, norm, out, epilogue);
          }};
}

Command Binder::operator()(const program::Activate& i) {
  return {.rows = RowsOf(i.gate),
          .encode = [=, gate = Value(i.gate), up = Value(i.up), out = Value(i.out), columns = Cols(i.gate)](
                        const StepContext& c, uint32_t rows) {
            Activate(c.dispatcher, rows * columns, KindOf(i.activation), gate, up, out);
          }};
}

Command Binder::operator()(const program::Rope& i) {
  const RopeOperand rope = RopeOf(i.rope);
  return {.encode = [=, x = Value(i.x), out = Value(i.out), heads = Count(i.heads), dim = Count(i.head_dim)](
                        const StepContext& c, uint32_t) {
    Rope(c.dispatcher, c.input.step(), heads, dim, rope, x, out);
  }};
}

Command Binder::operator()(const program::KvWrite& i) {
  const KvLayerOperand layer = Layer(i.layer).operand;
  return {.accesses = {.reads = {}, .writes = {layer.keys, layer.values}},
          .encode = [=, k = Value(i.k), v = Value(i.v), shared_key = Value(i.shared_key)](
                        const StepContext& c, uint32_t) {
            KvWrite(c.dispatcher, c.input.step(), k, v, shared_key, layer);
          }};
}

PrepareOperand Binder::PrepareOf(const program::AttentionPrepare& i) {
  return {.heads = Count(i.heads),
          .q_norm = Norm(i.q_norm),
          .k_norm = Norm(i.k_norm),
          .is_whole_row = i.whole_row_norm,
          .rope = i.rope ? RopeOf(*i.rope) : RopeOperand{},
          .qkv = Value(i.qkv)};
}

Command Binder::operator()(const program::AttentionPrepare& i) {
  const PrepareOperand op = PrepareOf(i);
  const KvLayerOperand layer = Layer(i.layer).operand;
  return {.accesses = {.reads = {}, .writes = {layer.keys, layer.values}},
          .encode = [=, out = Value(i.out)](const StepContext& c, uint32_t) {
            AttentionPrepare(c.dispatcher, c.input.step(), op, layer, out);
          }};
}

Command Binder::operator()(const program::LatentPrepare& i) {
  const LatentOperand op{.heads = Count(i.heads),
                         .q = Part(i.q),
                         .kv = Value(i.kv),
                         .shared_key = Part(i.shared_key),
                         .out = Value(i.out)};
  const RopeOperand rope = RopeOf(i.rope);
  const KvLayerOperand layer = Layer(i.layer).operand;
  return {.accesses = {.reads = {}, .writes = {layer.keys, layer.values}},
          .encode = [=](const StepContext& c, uint32_t) {
            LatentPrepare(c.dispatcher, c.input.step(), op, rope, layer);
          }};
}

AttentionOperand Binder::AttentionOf(const program::Attention& i) {
  return {.heads = Count(i.heads),
          .scale = Single(i.scale),
          .window = Count(i.window),
          .softcap = Single(i.softcap),
          .sinks = weights_.Vector(i.sinks),
          .gate = i.gate ? Part(*i.gate) : Values{},
          .q = Value(i.q),
          .out = Value(i.out)};
}

std::function<ScratchBytes(uint32_t rows)> Binder::ScratchOf(const AttentionOperand& op,
                                                             const KvLayerOperand& layer) const {
  return [=, longest = Count(limits_.kv_blocks * BLOCK_TOKENS)](uint32_t rows) {
    const AttentionWork work{.row_count = rows, .longest = longest};
    return ScratchBytes{.parts = AttentionScratchOf(op, work, layer)};
  };
}

Command Binder::operator()(const program::Attention& i) {
  const KvLayerOperand layer = Layer(i.layer).operand;
  const AttentionOperand op = AttentionOf(i);
  return {.accesses = {.reads = {layer.keys, layer.values}, .writes = {}},
          .encode =
              [=](const StepContext& c, uint32_t) {
                Attention(c.dispatcher, c.input.step(), c.input.attention(), op, layer, c.scratch);
              },
          .scratch = ScratchOf(op, layer)};
}

Command Binder::operator()(const program::AttentionPrepare& prepare, const program::Attention& attention) {
  const KvLayerOperand layer = Layer(attention.layer).operand;
  const PrepareOperand prepared = PrepareOf(prepare);
  const AttentionOperand op = AttentionOf(attention);
  return {.accesses = {.reads = {layer.keys, layer.values}, .writes = {layer.keys, layer.values}},
          .encode =
              [=](const StepContext& c, uint32_t) {
                const StepOperand& step = c.input.step();
                const AttentionWork& work = c.input.attention();
                if (CanAppend(step, work, op, layer)) {
                  AttentionAppend(c.dispatcher, step, work, prepared, op, layer, c.scratch);
                  return;
                }
                AttentionPrepare(c.dispatcher, step, prepared, layer, op.q);
                c.dispatcher.Barrier();
                Attention(c.dispatcher, step, work, op, layer, c.scratch);
              },
          .scratch = ScratchOf(op, layer)};
}

Command Binder::operator()(const program::GatedDelta& i) {
  const StateLayerOperand layer = state_layers_[static_cast<size_t>(i.layer)].operand;
  const GatedDeltaOperand op{.x = Value(i.x),
                             .conv = weights_.Vector(i.conv),
                             .decay = weights_.Vector(i.decay),
                             .time_bias = weights_.Vector(i.time_bias),
                             .out = Value(i.out)};
  return {.accesses = {.reads = {}, .writes = {layer.inputs, layer.matrices}},
          .encode = [=](const StepContext& c,
                        uint32_t) { GatedDelta(c.dispatcher, c.input.step(), op, layer, c.scratch); },
          .scratch = [=](uint32_t rows) { return GatedDeltaScratchOf(layer, rows); }};
}

Command Binder::operator()(const program::Add& i) {
  return {
      .rows = RowsOf(i.a),
      .encode = [a = Value(i.a), b = Value(i.b), out = Value(i.out), columns = Cols(i.a)](
                    const StepContext& c, uint32_t rows) { Add(c.dispatcher, rows * columns, a, b, out); }};
}

Command Binder::operator()(const program::Scale& i) {
  return {.rows = RowsOf(i.x),
          .encode = [=, x = Value(i.x), out = Value(i.out), columns = Cols(i.x)](const StepContext& c,
                                                                                 uint32_t rows) {
            Scale(c.dispatcher, rows * columns, Single(i.factor), Single(i.softcap), x, out);
          }};
}

Command Binder::operator()(const program::GatherRows& i) {
  return {.rows = Rows::kLogits,
          .encode = [=, x = Value(i.x), out = Value(i.out), columns = Cols(i.x)](const StepContext& c,
                                                                                 uint32_t rows) {
            GatherRows(c.dispatcher, rows, columns, c.input.gathered_rows(), x, out);
          }};
}

}  // namespace anllm::metal
