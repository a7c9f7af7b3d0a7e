#include "parse.h"

#include "fields.h"

namespace anllm::program {
namespace {

/** Far above any model, far below where a product of two overflows. */
constexpr int64_t kMaxSize = int64_t{1} << 31;

constexpr std::pair<const char*, Activation> kActivations[] = {
    {"silu", Activation::kSilu}, {"gelu", Activation::kGelu},       {"gelu_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu}, {"sigmoid", Activation::kSigmoid}, {"swiglu_oai", Activation::kSwigluOai}};
constexpr std::pair<const char*, Scores> kScores[] = {{"softmax", Scores::kSoftmax},
                                                      {"softmax_of_chosen", Scores::kSoftmaxOfChosen},
                                                      {"sigmoid", Scores::kSigmoid}};
constexpr std::pair<const char*, bool> kGroupRanks[] = {{"max", false}, {"top2_sum", true}};
constexpr std::pair<const char*, bool> kModes[] = {{"expand", false}, {"reduce", true}};
constexpr std::pair<const char*, Rows> kRows[] = {{"T", Rows::kTokens}, {"R", Rows::kLogits}};
constexpr std::pair<const char*, bool> kNormKinds[] = {{"rms", false}, {"layer", true}};
constexpr std::pair<const char*, bool> kRopeLayouts[] = {{"half", false}, {"interleaved", true}};
constexpr std::pair<const char*, bool> kWeightKinds[] = {{"matrix", true}, {"vector", false}};

int64_t Id(const Fields& f, const char* name) {
  return f.Integer(name, 0, kMaxSize);
}
int64_t IdOrNone(const Fields& f, const char* name) {
  return f.IsNull(name) ? kNone : Id(f, name);
}
int64_t Size(const Fields& f, const char* name) {
  return f.Integer(name, 1, kMaxSize);
}
/** An optional field: absent, or an id. */
int64_t IdIfGiven(const Fields& f, const char* name) {
  return f.Has(name) ? Id(f, name) : kNone;
}
int64_t IndexOrZero(const Fields& f, const char* name) {
  return f.Has(name) ? f.Integer(name, 0, kMaxSize) : 0;
}
std::vector<WeightId> Ids(const Fields& f, const char* name) {
  std::vector<WeightId> ids;
  f.ForEach(name, [&](const Napi::Value& value, const std::string& place) {
    ids.push_back(ToInteger(value, place, 0, kMaxSize));
  });
  return ids;
}

/** `parsed`, which was read from f, when nothing is left in f. */
template <class Parsed>
Parsed Close(const Fields& f, Parsed parsed) {
  f.Close();
  return parsed;
}

NormSpec ParseNorm(const Fields& f) {
  return Close(f, NormSpec{OneOf(f, "kind", kNormKinds), IdOrNone(f, "weight"), IdOrNone(f, "bias"),
                           f.Number("eps"), f.Number("offset")});
}

std::optional<NormSpec> ParseNormOrNone(const Fields& f, const char* name) {
  if (f.IsNull(name)) return std::nullopt;
  return ParseNorm(f.Object(name));
}

RopeSpec ParseRope(const Fields& f) {
  return Close(f, RopeSpec{f.Numbers("inverseFrequencies"), f.Number("scale"),
                           OneOf(f, "layout", kRopeLayouts), IndexOrZero(f, "start")});
}

std::optional<JoinSpec> ParseJoinIfGiven(const Fields& f) {
  if (!f.Has("join")) return std::nullopt;
  const Fields join = f.Object("join");
  return Close(join, JoinSpec{Id(join, "residual"), ParseNorm(join.Object("norm")), Id(join, "sum")});
}

Columns ParseColumns(const Fields& f) {
  return Close(f, Columns{Id(f, "value"), f.Integer("column", 0, kMaxSize)});
}

std::optional<NormGate> ParseNormGateIfGiven(const Fields& f) {
  if (!f.Has("gate")) return std::nullopt;
  const Fields gate = f.Object("gate");
  return Close(gate, NormGate{{Id(gate, "value"), gate.Integer("column", 0, kMaxSize)},
                              OneOf(gate, "activation", kActivations)});
}

Routing ParseRouting(const Fields& f) {
  Routing routing{Size(f, "experts"),
                  Size(f, "topK"),
                  OneOf(f, "scores", kScores),
                  0,
                  0,
                  false,
                  f.Boolean("normalize"),
                  static_cast<float>(f.Number("factor"))};
  if (!f.IsNull("groups")) {
    const Fields groups = f.Object("groups");
    routing.groups = Size(groups, "count");
    routing.kept_groups = Size(groups, "kept");
    routing.rank_by_two_best = OneOf(groups, "rank", kGroupRanks);
    groups.Close();
  }
  return Close(f, routing);
}

double SoftcapOrZero(const Fields& f) {
  if (f.IsNull("softcap")) return 0;
  const double softcap = f.Number("softcap");
  if (softcap > 0) return softcap;
  throw Error("internal",
              f.place() + " softcap: got " + std::to_string(softcap) + ", expected a positive number");
}

Instruction ParseLinear(const Fields& f) {
  Linear linear{Id(f, "x"),
                Ids(f, "weights"),
                {},
                ParseNormOrNone(f, "norm"),
                IdOrNone(f, "residual"),
                ParseJoinIfGiven(f),
                IndexOrZero(f, "column"),
                f.Has("factor") ? f.Number("factor") : 1.0,
                f.Has("activation") ? OneOf(f, "activation", kActivations) : Activation::kIdentity,
                Id(f, "out")};
  f.ForEach("biases", [&](const Napi::Value& value, const std::string& place) {
    linear.biases.push_back(value.IsNull() ? kNone : ToInteger(value, place, 0, kMaxSize));
  });
  return linear;
}

Instruction ParseAttentionPrepare(const Fields& f) {
  std::optional<RopeSpec> rope;
  if (!f.IsNull("rope")) rope = ParseRope(f.Object("rope"));
  return AttentionPrepare{Id(f, "qkv"),
                          Id(f, "layer"),
                          Size(f, "heads"),
                          Size(f, "kvHeads"),
                          Size(f, "headDim"),
                          ParseNormOrNone(f, "qNorm"),
                          ParseNormOrNone(f, "kNorm"),
                          f.Has("wholeRowNorm") && f.Boolean("wholeRowNorm"),
                          rope,
                          Id(f, "out")};
}

Instruction ParseMoeLinear(const Fields& f) {
  return MoeLinear{OneOf(f, "mode", kModes), Id(f, "x"),        Id(f, "route"),      Size(f, "experts"),
                   Size(f, "topK"),          Ids(f, "weights"), IdOrNone(f, "bias"), IdOrNone(f, "shared"),
                   IdOrNone(f, "residual"),  Id(f, "out")};
}

Instruction ParseMoeGlu(const Fields& f) {
  return MoeGlu{Id(f, "x"),
                ParseNormOrNone(f, "norm"),
                Id(f, "route"),
                Size(f, "experts"),
                Size(f, "topK"),
                Ids(f, "gate"),
                Ids(f, "up"),
                IdOrNone(f, "gateBias"),
                IdOrNone(f, "upBias"),
                IdOrNone(f, "sharedGate"),
                IdOrNone(f, "sharedUp"),
                OneOf(f, "activation", kActivations),
                Id(f, "out")};
}

std::optional<Instruction> ParseExpertOp(const std::string& op, const Fields& f) {
  if (op == MoeRoute::kName) {
    return MoeRoute{Id(f, "x"),
                    ParseNormOrNone(f, "norm"),
                    Id(f, "router"),
                    IdOrNone(f, "bias"),
                    IdOrNone(f, "correction"),
                    IdOrNone(f, "sharedGate"),
                    ParseRouting(f.Object("routing")),
                    Id(f, "out")};
  }
  if (op == MoeLinear::kName) return ParseMoeLinear(f);
  if (op == MoeGlu::kName) return ParseMoeGlu(f);
  return std::nullopt;
}

std::optional<Instruction> ParseAttentionOp(const std::string& op, const Fields& f) {
  if (op == KvWrite::kName) return KvWrite{Id(f, "k"), Id(f, "v"), IdIfGiven(f, "sharedKey"), Id(f, "layer")};
  if (op == AttentionPrepare::kName) return ParseAttentionPrepare(f);
  if (op == LatentPrepare::kName) {
    return LatentPrepare{ParseColumns(f.Object("q")),
                         Id(f, "kv"),
                         ParseColumns(f.Object("sharedKey")),
                         Id(f, "layer"),
                         Size(f, "heads"),
                         ParseRope(f.Object("rope")),
                         Id(f, "out")};
  }
  if (op == Attention::kName) {
    std::optional<Columns> gate;
    if (f.Has("gate")) gate = ParseColumns(f.Object("gate"));
    return Attention{Id(f, "q"),
                     Id(f, "layer"),
                     Size(f, "heads"),
                     f.Number("scale"),
                     f.IsNull("window") ? 0 : Size(f, "window"),
                     SoftcapOrZero(f),
                     IdOrNone(f, "sinks"),
                     gate,
                     Id(f, "out")};
  }
  if (op == GatedDelta::kName) {
    return GatedDelta{Id(f, "x"),     Id(f, "layer"),    Id(f, "conv"),
                      Id(f, "decay"), Id(f, "timeBias"), Id(f, "out")};
  }
  return std::nullopt;
}

Instruction ParseOp(const std::string& op, const Fields& f) {
  if (op == Embed::kName) return Embed{Id(f, "weight"), f.Number("scale"), Id(f, "out")};
  if (op == Normalize::kName) {
    return Normalize{Id(f, "x"),
                     ParseNorm(f.Object("norm")),
                     Size(f, "groups"),
                     ParseNormGateIfGiven(f),
                     IdIfGiven(f, "residual"),
                     Id(f, "out")};
  }
  if (op == Linear::kName) return ParseLinear(f);
  if (op == Glu::kName) {
    return Glu{Id(f, "x"),
               Id(f, "gate"),
               Id(f, "up"),
               IdIfGiven(f, "gateBias"),
               IdIfGiven(f, "upBias"),
               OneOf(f, "activation", kActivations),
               ParseNormOrNone(f, "norm"),
               ParseJoinIfGiven(f),
               Id(f, "out")};
  }
  if (op == Activate::kName) {
    return Activate{Id(f, "gate"), IdOrNone(f, "up"), OneOf(f, "activation", kActivations), Id(f, "out")};
  }
  if (op == Rope::kName) {
    return Rope{Id(f, "x"), Size(f, "heads"), Size(f, "headDim"), ParseRope(f.Object("rope")), Id(f, "out")};
  }
  if (op == Add::kName) return Add{Id(f, "a"), Id(f, "b"), Id(f, "out")};
  if (op == Scale::kName) return Scale{Id(f, "x"), f.Number("factor"), SoftcapOrZero(f), Id(f, "out")};
  if (op == GatherRows::kName) return GatherRows{Id(f, "x"), Id(f, "out")};
  if (const auto instruction = ParseAttentionOp(op, f)) return *instruction;
  if (const auto instruction = ParseExpertOp(op, f)) return *instruction;
  throw Error("unsupported", f.place() + ": the cpu backend does not have this op");
}

Instruction ParseInstruction(const Napi::Value& value, const std::string& place) {
  const std::string op = Fields(value, place).String("op");
  const Fields f(value, "[" + op + "]");
  f.String("op");
  return Close(f, ParseOp(op, f));
}

}  // namespace

Program Parse(const Napi::Value& value) {
  const Fields f(value, "[program]");
  Program program{Size(f, "vocabSize"), {}, {}, {}, {}, {}, Id(f, "logits")};
  if (f.Has("hidden")) {
    const Fields h = f.Object("hidden");
    program.hidden = Id(h, "value");
    ParseNorm(h.Object("norm"));  // whoever reads the value applies it
    h.Close();
  }
  // These are for people and for the generator.
  f.String("model");
  f.Integer("contextLength", 1, kMaxSize);
  f.ForEach("values", [&](const Napi::Value& item, const std::string& place) {
    const Fields v(item, place);
    program.values.push_back(Close(v, ValueSpec{OneOf(v, "rows", kRows), Size(v, "cols")}));
  });
  f.ForEach("weights", [&](const Napi::Value& item, const std::string& place) {
    const Fields w(item, place);
    program.weights.push_back(
        {w.String("name"), OneOf(w, "kind", kWeightKinds), Size(w, "rows"), Size(w, "cols")});
  });
  f.ForEach("kvLayers", [&](const Napi::Value& item, const std::string& place) {
    const Fields k(item, place);
    program.kv_layers.push_back(
        Close(k, KvLayerSpec{Size(k, "kvHeads"), Size(k, "keyDim"), Size(k, "valueDim")}));
  });
  if (f.Has("stateLayers")) {
    f.ForEach("stateLayers", [&](const Napi::Value& item, const std::string& place) {
      const Fields s(item, place);
      program.state_layers.push_back(Close(
          s, StateLayerSpec{Size(s, "keyHeads"), Size(s, "valueHeads"), Size(s, "keyDim"),
                            Size(s, "valueDim"), Size(s, "taps"), s.Has("tiled") && s.Boolean("tiled")}));
    });
  }
  f.ForEach("instructions", [&](const Napi::Value& item, const std::string& place) {
    program.instructions.push_back(ParseInstruction(item, place));
  });
  return Close(f, std::move(program));
}

}  // namespace anllm::program
