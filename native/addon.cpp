/**
 * The Node-API surface, called by extension/engine/backend/native.ts only:
 *
 *   describe() → { isas: string[], threads: number, kvBlockSize: number }
 *   describeMetal() → { name: string, kvBlockSize: number, selfTest: { name: string, error: number, failure:
 * string, isGood: boolean, scope: string }[] }, or null where there is no such device; takes a fraction
 * of a second compile(program, sources, options) → Promise<handle>; handle { threads, bytesPerToken,
 * blockBytes, stateBytes } step(handle, tokens, positions, offsets, blockTables, blocksPerSequence,
 * logitRows, stateSlots, columns, draws: Float64Array, masks: Uint32Array) → Promise<{ ids, logits }>, see
 * program/draws.h and node/session.h; without the last three all logits hidden(handle) → Float32Array [tokens
 * of the last step, hidden] readBlocks(handle, blocks) → Uint8Array; writeBlocks(handle, blocks, bytes)
 *   copyBlocks(handle, pairs), copyState(handle, from, to), readState(handle, slot) → Uint8Array,
 *   writeState(handle, slot, length, bytes), setPlanes(handle, attention, others),
 *   cancel(handle), dispose(handle)
 *   memoryBandwidth(threads) → bytes a second; takes a fraction of a second
 *
 * Errors have a `code` of extension/engine/errors.ts.
 */
#include <napi.h>

#include "cpu_count.h"
#include "kernels/scratch.h"
#include "kernels/select.h"
#include "memory_bandwidth.h"
#include "metal/create_device.h"
#include "metal/program/executable.h"
#include "metal/program/self_test.h"
#include "node/session.h"
#include "program/cpu_executable.h"
#include "program/fields.h"
#include "program/parse.h"
#include "weights/parse_source.h"

namespace anllm::node {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 20;
constexpr int64_t kMaxKvBlocks = int64_t{1} << 20;
constexpr int64_t kMaxStateSlots = int64_t{1} << 16;
constexpr int64_t kMaxCpuThreads = 1024;

/** Marks the objects that `compile` gives, so that no other object is taken for one. */
constexpr napi_type_tag kSessionTag = {0x9d1f7a52c3e84b06, 0xa7e3510c6f2b4d98};

/** Runs `body` and turns every failure into a JavaScript exception. */
template <class Body>
Napi::Value Guard(Napi::Env env, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    throw ToError(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    throw ToError(env, "out_of_memory", "the system has no memory left");
  } catch (const Napi::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw ToError(env, "internal", error.what());
  }
}

Napi::Object MakeHandle(Napi::Env env, std::unique_ptr<program::Executable> executable) {
  Napi::Object handle = Napi::Object::New(env);
  handle.Set("threads", executable->threads());
  handle.Set("blockBytes", static_cast<double>(executable->blocks().block_bytes()));
  handle.Set("stateBytes", static_cast<double>(executable->states().block_bytes()));
  handle.Set("bytesPerToken", static_cast<double>(executable->bytes_per_token()));
  handle.TypeTag(&kSessionTag);
  auto session =
      std::make_unique<std::shared_ptr<Session>>(std::make_shared<Session>(env, std::move(executable)));
  const auto finalize = [](napi_env, void* data, void*) {
    const std::unique_ptr<std::shared_ptr<Session>> owner(static_cast<std::shared_ptr<Session>*>(data));
    (*owner)->Dispose();
  };
  if (napi_wrap(env, handle, session.get(), finalize, nullptr, nullptr) != napi_ok)
    throw Napi::Error::New(env);
  (void)session.release();  // the handle owns it now
  return handle;
}

Session& SessionOf(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kSessionTag)) {
    throw Error("internal", "[step] handle: expected the result of compile");
  }
  void* data = nullptr;
  if (napi_unwrap(value.Env(), value, &data) != napi_ok) throw Napi::Error::New(value.Env());
  return **static_cast<std::shared_ptr<Session>*>(data);
}

/** What `compile` was asked for. */
struct CompileOptions {
  bool is_metal;
  /** See metal/create_device.h. */
  std::string pipeline_folder;
  program::CpuOptions cpu;
};

DType KvTypeOf(KvFormat format) {
  switch (format) {
    case KvFormat::kFloat:
      return DTYPE_F32;
    case KvFormat::kHalf:
      return DTYPE_F16;
    case KvFormat::kInt8:
      return DTYPE_I8;
  }
  return DTYPE_F32;
}

std::unique_ptr<program::Executable> MakeExecutable(const program::Program& program,
                                                    const std::vector<weights::WeightSource>& sources,
                                                    const CompileOptions& options) {
  const program::CpuOptions& cpu = options.cpu;
  if (!options.is_metal) return std::make_unique<program::CpuExecutable>(program, sources, cpu);
  std::unique_ptr<metal::Device> device = metal::CreateDevice(options.pipeline_folder);
  if (device == nullptr) throw Error("unavailable", "this machine has no Metal device; use --backend cpu");
  return std::make_unique<metal::Executable>(
      std::move(device), program, sources,
      metal::Options{.limits = cpu.limits,
                     .numbers = {.is_fast = cpu.is_fast, .kv_type = KvTypeOf(cpu.kv_format)},
                     .has_decode_attention = cpu.decode_attention,
                     .weights = {.threads = cpu.threads,
                                 .is_exact = !cpu.is_fast,
                                 .force_dequantized = cpu.force_dequantized,
                                 .packed_file = cpu.packed_file}});
}

/** Loads the weights on a thread of the pool that Node.js has for slow work. */
class Compilation : public Napi::AsyncWorker {
 public:
  Compilation(Napi::Env env, program::Program program, std::vector<weights::WeightSource> sources,
              const CompileOptions& options)
      : AsyncWorker(env, "anllm compile"),
        deferred_(Napi::Promise::Deferred::New(env)),
        program_(std::move(program)),
        sources_(std::move(sources)),
        options_(options) {}

  Napi::Promise Promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      executable_ = MakeExecutable(program_, sources_, options_);
    } catch (const Error& error) {
      code_ = error.code();
      SetError(error.what());
    } catch (const std::bad_alloc&) {
      code_ = "out_of_memory";
      SetError("[compile] the system has no memory left; use a smaller model or context");
    } catch (const std::exception& error) {
      SetError(error.what());
    }
  }
  void OnOK() override { deferred_.Resolve(MakeHandle(Env(), std::move(executable_))); }
  void OnError(const Napi::Error& error) override {
    deferred_.Reject(ToError(Env(), code_, error.Message()).Value());
  }

 private:
  Napi::Promise::Deferred deferred_;
  const program::Program program_;
  const std::vector<weights::WeightSource> sources_;
  const CompileOptions options_;
  std::unique_ptr<program::Executable> executable_;
  std::string code_ = "internal";
};

CompileOptions ParseOptions(const program::Fields& f) {
  constexpr std::pair<const char*, bool> kPrecisions[] = {{"exact", false}, {"fast", true}};
  const program::Limits limits = {f.Integer("maxTokens", 1, kMaxTokens),
                                  f.Integer("maxLogitRows", 1, kMaxTokens),
                                  f.Integer("kvBlocks", 1, kMaxKvBlocks),
                                  f.Has("stateSlots") ? f.Integer("stateSlots", 1, kMaxStateSlots) : 1};
  const int64_t threads = f.Integer("threads", 0, kMaxCpuThreads);
  const bool is_metal = f.String("device") == "metal";
  const bool is_fast = OneOf(f, "precision", kPrecisions);
  KvFormat kv_format = is_fast ? KvFormat::kHalf : KvFormat::kFloat;
  if (f.Has("kvBits") && f.Integer("kvBits", 8, 16) == 8) kv_format = KvFormat::kInt8;
  return {
      is_metal,
      f.Has("pipelineFolder") ? f.String("pipelineFolder") : "",
      {limits, is_fast, kv_format, threads == 0 ? DefaultThreads() : static_cast<int>(threads),
       SelectKernels(f.String("isa")), !f.Has("decodeAttentionKernel") || f.Boolean("decodeAttentionKernel"),
       f.Has("forceDequantized") && f.Boolean("forceDequantized"),
       f.Has("packedFile") ? f.String("packedFile") : ""}};
}

Napi::Value Compile(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    program::Program program = program::Parse(info[0]);
    std::vector<weights::WeightSource> sources;
    const Napi::Array array = info[1].As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); i++) {
      sources.push_back(weights::ParseSource(array.Get(i), "[compile] weights[" + std::to_string(i) + "]"));
    }
    const CompileOptions options = ParseOptions(program::Fields(info[2], "[compile]"));
    auto compilation =
        std::make_unique<Compilation>(info.Env(), std::move(program), std::move(sources), options);
    const Napi::Promise promise = compilation->Promise();
    compilation.release()->Queue();  // deletes itself when it has ended
    return promise;
  });
}

program::Ints IntsOf(const Napi::Value& value, const char* name) {
  const bool is_ints =
      value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array;
  if (!is_ints) throw BadRequest(std::string("[step] ") + name + ": expected an Int32Array");
  const Napi::Int32Array array = value.As<Napi::Int32Array>();
  return {array.Data(), static_cast<int64_t>(array.ElementLength())};
}

Napi::Uint8Array BytesOf(const Napi::Value& value, const char* place) {
  const bool is_bytes =
      value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
  if (!is_bytes) throw BadRequest(std::string(place) + " bytes: expected a Uint8Array");
  return value.As<Napi::Uint8Array>();
}

template <class Array>
Array ArrayOf(const Napi::Value& value, napi_typedarray_type type, const char* expected) {
  const bool is_right = value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type;
  if (!is_right) throw BadRequest(std::string("[step] draws: expected ") + expected);
  return value.As<Array>();
}

program::DrawsView DrawsOf(const Napi::CallbackInfo& info) {
  if (info[8].IsUndefined()) return {};
  const auto fields = ArrayOf<Napi::Float64Array>(info[9], napi_float64_array, "a Float64Array");
  const auto masks = ArrayOf<Napi::Uint32Array>(info[10], napi_uint32_array, "masks in a Uint32Array");
  return {.fields = fields.Data(),
          .num_fields = static_cast<int64_t>(fields.ElementLength()),
          .masks = masks.Data(),
          .mask_words = static_cast<int64_t>(masks.ElementLength()),
          .columns = program::ToInteger(info[8], "[step] columns", 0, INT32_MAX)};
}

Napi::Value Step(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    const program::BatchView batch = {
        IntsOf(info[1], "tokens"),
        IntsOf(info[2], "positions"),
        IntsOf(info[3], "offsets"),
        IntsOf(info[4], "blockTables"),
        program::ToInteger(info[5], "[step] blocksPerSequence", INT32_MIN, INT32_MAX),
        IntsOf(info[6], "logitRows"),
        info[7].IsUndefined() ? program::Ints{nullptr, 0} : IntsOf(info[7], "stateSlots")};
    return SessionOf(info[0]).Step(info.Env(), batch, DrawsOf(info));
  });
}

Napi::Value Hidden(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value { return SessionOf(info[0]).Hidden(info.Env()); });
}

Napi::Value CopyBlocks(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    SessionOf(info[0]).CopyBlocks(IntsOf(info[1], "pairs"));
    return info.Env().Undefined();
  });
}

Napi::Value ReadBlocks(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    return SessionOf(info[0]).ReadBlocks(info.Env(), IntsOf(info[1], "blocks"));
  });
}

Napi::Value WriteBlocks(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    const Napi::Uint8Array bytes = BytesOf(info[2], "[write_blocks]");
    SessionOf(info[0]).WriteBlocks(IntsOf(info[1], "blocks"), bytes.Data(), bytes.ByteLength());
    return info.Env().Undefined();
  });
}

Napi::Value CopyState(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    const int64_t from = program::ToInteger(info[1], "[copy_state] from", INT32_MIN, INT32_MAX);
    const int64_t to = program::ToInteger(info[2], "[copy_state] to", INT32_MIN, INT32_MAX);
    SessionOf(info[0]).CopyState(from, to);
    return info.Env().Undefined();
  });
}

Napi::Value ReadState(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    const int64_t slot = program::ToInteger(info[1], "[read_state] slot", INT32_MIN, INT32_MAX);
    return SessionOf(info[0]).ReadState(info.Env(), slot);
  });
}

Napi::Value WriteState(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    const int64_t slot = program::ToInteger(info[1], "[write_state] slot", INT32_MIN, INT32_MAX);
    const int64_t length = program::ToInteger(info[2], "[write_state] length", 1, INT32_MAX);
    const Napi::Uint8Array bytes = BytesOf(info[3], "[write_state]");
    SessionOf(info[0]).WriteState(slot, length, bytes.Data(), bytes.ByteLength());
    return info.Env().Undefined();
  });
}

Napi::Value SetPlanes(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    const int64_t attention = program::ToInteger(info[1], "[set_planes] attention", 1, kMaxPlanes);
    const int64_t others = program::ToInteger(info[2], "[set_planes] others", 1, kMaxPlanes);
    SessionOf(info[0]).SetPlanes(static_cast<int>(attention), static_cast<int>(others));
    return info.Env().Undefined();
  });
}

Napi::Value Cancel(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    SessionOf(info[0]).Cancel();
    return info.Env().Undefined();
  });
}

Napi::Value Dispose(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&] {
    SessionOf(info[0]).Dispose();
    return info.Env().Undefined();
  });
}

Napi::Value Describe(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array isas = Napi::Array::New(env);
  for (const Kernels* kernels : AvailableKernels()) isas.Set(isas.Length(), kernels->isa);
  Napi::Object description = Napi::Object::New(env);
  description.Set("isas", isas);
  description.Set("threads", DefaultThreads());
  description.Set("kvBlockSize", static_cast<double>(kKvBlock));
  return description;
}

const char* NameOf(metal::SelfTestScope scope) {
  switch (scope) {
    case metal::SelfTestScope::kAll:
      return "all";
    case metal::SelfTestScope::kDrawing:
      return "drawing";
    case metal::SelfTestScope::kKv8:
      return "kv8";
  }
  return "all";
}

Napi::Value DescribeMetal(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    const std::unique_ptr<metal::Device> device =
        metal::CreateDevice(info[0].IsString() ? info[0].As<Napi::String>().Utf8Value() : "");
    if (device == nullptr) return info.Env().Null();
    Napi::Object description = Napi::Object::New(info.Env());
    description.Set("name", device->name());
    description.Set("kvBlockSize", static_cast<double>(metal::BLOCK_TOKENS));
    Napi::Array tests = Napi::Array::New(info.Env());
    for (const metal::SelfTestResult& result : metal::SelfTest(*device)) {
      Napi::Object test = Napi::Object::New(info.Env());
      test.Set("name", result.name);
      test.Set("error", result.error);
      test.Set("failure", result.failure);
      test.Set("isGood", result.is_good());
      test.Set("scope", NameOf(result.scope));
      tests.Set(tests.Length(), test);
    }
    device->SavePipelines();
    description.Set("selfTest", tests);
    return description;
  });
}

Napi::Value MemoryBandwidth(const Napi::CallbackInfo& info) {
  return Guard(info.Env(), [&]() -> Napi::Value {
    const int64_t threads = program::ToInteger(info[0], "[memory_bandwidth] threads", 1, kMaxCpuThreads);
    return Napi::Number::New(info.Env(), MeasureMemoryBandwidth(static_cast<int>(threads)));
  });
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("describe", Napi::Function::New(env, Describe, "describe"));
  exports.Set("describeMetal", Napi::Function::New(env, DescribeMetal, "describeMetal"));
  exports.Set("compile", Napi::Function::New(env, Compile, "compile"));
  exports.Set("step", Napi::Function::New(env, Step, "step"));
  exports.Set("hidden", Napi::Function::New(env, Hidden, "hidden"));
  exports.Set("copyBlocks", Napi::Function::New(env, CopyBlocks, "copyBlocks"));
  exports.Set("readBlocks", Napi::Function::New(env, ReadBlocks, "readBlocks"));
  exports.Set("writeBlocks", Napi::Function::New(env, WriteBlocks, "writeBlocks"));
  exports.Set("copyState", Napi::Function::New(env, CopyState, "copyState"));
  exports.Set("readState", Napi::Function::New(env, ReadState, "readState"));
  exports.Set("writeState", Napi::Function::New(env, WriteState, "writeState"));
  exports.Set("setPlanes", Napi::Function::New(env, SetPlanes, "setPlanes"));
  exports.Set("cancel", Napi::Function::New(env, Cancel, "cancel"));
  exports.Set("dispose", Napi::Function::New(env, Dispose, "dispose"));
  exports.Set("memoryBandwidth", Napi::Function::New(env, MemoryBandwidth, "memoryBandwidth"));
  return exports;
}

}  // namespace

NODE_API_MODULE(anllm, Initialize)

}  // namespace anllm::node
