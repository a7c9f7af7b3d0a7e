/** Runs single ops of native/metal on whatever device it is linked with: requests on stdin, results on
 * stdout. */
#include <exception>
#include <map>
#include <string>

#include "../../../native/metal/attention_plan.h"
#include "../../../native/metal/create_device.h"
#include "../../../native/metal/ops.h"
#include "operands.h"
#include "request.h"

namespace anllm::runner {

namespace {

using metal::Dispatcher;
using metal::TILE_WORDS;
using Op = void (*)(Dispatcher&, Request&);

metal::AttentionWork WorkOf(Request& r, const metal::StepOperand& step) {
  const metal::BufferView offsets = r.View("offsets");
  const auto plan =
      metal::PlanAttention(reinterpret_cast<const int32_t*>(offsets.buffer->contents()), step.sequences,
                           reinterpret_cast<const int32_t*>(step.positions.buffer->contents()));
  return {.row_count = static_cast<uint32_t>(plan.rows.size()),
          .rows = r.Allocate(plan.rows),
          .tile_count = static_cast<uint32_t>(plan.tiles.size() / TILE_WORDS),
          .tiles = r.Allocate(plan.tiles),
          .longest = plan.longest};
}

const std::map<std::string, Op>& Ops() {
  static const std::map<std::string, Op> ops = {
      {"embed",
       [](Dispatcher& d, Request& r) {
         Embed(d, StepOf(r), MatrixOf(r), static_cast<float>(r.Number("scale")), ValuesOf(r, "out"));
       }},
      {"norm",
       [](Dispatcher& d, Request& r) {
         Normalize(d, r.Int("rows"), r.Int("columns"), r.Int("groups"), ValuesOf(r, "x"), NormOf(r, "norm"),
                   ValuesOf(r, "out"),
                   {.gate = ValuesOf(r, "gate"),
                    .activation = static_cast<ActivationKind>(r.IntOrZero("activation")),
                    .residual = r.View("residual")});
       }},
      {"activation",
       [](Dispatcher& d, Request& r) {
         Activate(d, r.Int("count"), static_cast<ActivationKind>(r.Int("activation")), ValuesOf(r, "gate"),
                  ValuesOf(r, "up"), ValuesOf(r, "out"));
       }},
      {"add",
       [](Dispatcher& d, Request& r) {
         Add(d, r.Int("count"), ValuesOf(r, "a"), ValuesOf(r, "b"), ValuesOf(r, "out"));
       }},
      {"scale",
       [](Dispatcher& d, Request& r) {
         Scale(d, r.Int("count"), static_cast<float>(r.Number("factor")),
               static_cast<float>(r.Number("softcap")), ValuesOf(r, "x"), ValuesOf(r, "out"));
       }},
      {"gather_rows",
       [](Dispatcher& d, Request& r) {
         GatherRows(d, r.Int("rows"), r.Int("columns"), r.View("indices"), ValuesOf(r, "x"),
                    ValuesOf(r, "out"));
       }},
      {"linear",
       [](Dispatcher& d, Request& r) {
         const metal::LinearOperand op = LinearOf(r);
         // Not a byte more than the op says it needs: the device finds what goes beyond.
         const metal::ScratchBytes bytes = LinearScratchOf(op);
         Linear(d, op, {.normalized = r.Allocate(bytes.normalized), .parts = r.Allocate(bytes.parts)});
       }},
      {"latent_prepare",
       [](Dispatcher& d, Request& r) {
         const metal::LatentOperand op{.heads = r.Int("heads"),
                                       .q = ValuesOf(r, "q"),
                                       .kv = ValuesOf(r, "kv"),
                                       .shared_key = ValuesOf(r, "shared_key"),
                                       .out = ValuesOf(r, "out")};
         LatentPrepare(d, StepOf(r), op, RopeOf(r), KvLayerOf(r));
       }},
      {"attention",
       [](Dispatcher& d, Request& r) {
         const metal::StepOperand step = StepOf(r);
         const metal::KvLayerOperand layer = KvLayerOf(r);
         const metal::AttentionOperand op = AttentionOf(r);
         const metal::AttentionWork work = WorkOf(r, step);
         Attention(d, step, work, op, layer, {.parts = r.Allocate(AttentionScratchOf(op, work, layer))});
       }},
      {"gated_delta",
       [](Dispatcher& d, Request& r) {
         const metal::StateLayerOperand layer = StateLayerOf(r);
         const metal::GatedDeltaOperand op{.x = ValuesOf(r, "x"),
                                           .conv = r.View("conv"),
                                           .decay = r.View("decay"),
                                           .time_bias = r.View("time_bias"),
                                           .out = ValuesOf(r, "out")};
         const metal::StepOperand step = StepOf(r);
         const metal::ScratchBytes bytes = GatedDeltaScratchOf(layer, step.rows);
         GatedDelta(d, step, op, layer,
                    {.normalized = r.Allocate(bytes.normalized), .parts = r.Allocate(bytes.parts)});
       }},
      {"fault",
       [](Dispatcher& d, Request& r) {
         const metal::Launch launch{r.Text("kernel").c_str(), {}, {r.Int("groups"), 1, 1}, 64};
         for (uint32_t i = 0; i < r.Int("dispatches"); i++) {
           d.Run(launch, {r.View("x"), r.View("out")}, metal::ElementParams{64});
           if (r.Int("has_barriers") != 0) d.Barrier();
         }
       }},
      {"rope",
       [](Dispatcher& d, Request& r) {
         Rope(d, StepOf(r), r.Int("heads"), r.Int("head_dim"), RopeOf(r), ValuesOf(r, "x"),
              ValuesOf(r, "out"));
       }},
      {"kv_write",
       [](Dispatcher& d, Request& r) {
         KvWrite(d, StepOf(r), ValuesOf(r, "k"), ValuesOf(r, "v"), ValuesOf(r, "shared_key"), KvLayerOf(r));
       }},
      {"attention_prepare",
       [](Dispatcher& d, Request& r) {
         AttentionPrepare(d, StepOf(r), PrepareOf(r), KvLayerOf(r), ValuesOf(r, "out"));
       }},
      {"attention_append",
       [](Dispatcher& d, Request& r) {
         const metal::StepOperand step = StepOf(r);
         const metal::KvLayerOperand layer = KvLayerOf(r);
         const metal::AttentionOperand op = AttentionOf(r);
         const metal::AttentionWork work = WorkOf(r, step);
         if (!CanAppend(step, work, op, layer)) throw std::runtime_error("it cannot be appended");
         AttentionAppend(d, step, work, PrepareOf(r), op, layer,
                         {.parts = r.Allocate(AttentionScratchOf(op, work, layer))});
       }},
  };
  return ops;
}

void Serve() {
  const std::unique_ptr<metal::Device> device = metal::CreateDevice();
  Dispatcher dispatcher(*device);
  for (Request request(*device); request.Read();) {
    try {
      const auto op = Ops().find(request.op());
      if (op == Ops().end()) throw std::runtime_error("no op is called " + request.op());
      const auto commands = device->NewCommandBuffer();
      dispatcher.Begin(*commands);
      op->second(dispatcher, request);
      commands->Commit();
      commands->WaitUntilCompleted();
    } catch (const metal::GpuStopped& error) {
      dispatcher.Forget();
      device->Restart();
      Request::ReplyError(error.what());
      continue;
    } catch (const std::exception& error) {
      Request::ReplyError(error.what());
      continue;
    }
    request.Reply();
  }
}

}  // namespace

}  // namespace anllm::runner

int main() {
  anllm::runner::Serve();
}
