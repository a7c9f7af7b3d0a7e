/**
 * A module that counts what the encoder sends to a GPU for models of any size: nothing is loaded and nothing
 * runs.
 *
 *   countStep(program, rows, position, kvBits?) → what a step of `rows` tokens of one sequence after
 * `position` cached ones takes, all weights being affine with 4 bits in groups of 64: { dispatches;
 * weightBytes, those that one row reads; cacheBytes, the keys and values that the last row sees, in 16 or 8
 * bits }
 */
#include <napi.h>
#include <sys/mman.h>

#include "../../../native/metal/program/executable.h"
#include "../../../native/program/parse.h"
#include "../../../native/program/validate.h"

namespace anllm::metal {
namespace {

/** Address space that no one touches. */
class PromisedBuffer : public Buffer {
 public:
  explicit PromisedBuffer(size_t size)
      : size_(size),
        data_(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~PromisedBuffer() override { munmap(data_, size_); }
  uint8_t* contents() const override { return static_cast<uint8_t*>(data_); }
  size_t size() const override { return size_; }

 private:
  size_t size_;
  void* data_;
};

class CountingDevice : public Device {
 public:
  std::string name() const override { return "counting device"; }
  std::unique_ptr<Buffer> NewBuffer(size_t bytes) override { return std::make_unique<PromisedBuffer>(bytes); }
  std::unique_ptr<Buffer> WrapMemory(void*, size_t bytes) override { return NewBuffer(bytes); }
  std::unique_ptr<Pipeline> NewPipeline(const std::string&, const Constants&) override {
    return std::make_unique<Pipeline>();
  }
  std::unique_ptr<CommandBuffer> NewCommandBuffer() override { return nullptr; }
  void Restart() override {}
};

weights::StoredTensor Tensor(weights::ElementType type, std::vector<int64_t> shape) {
  weights::StoredTensor tensor{.name = "any", .type = type, .shape = std::move(shape), .file = "/dev/null"};
  tensor.byte_length = weights::BytesOf(type);
  for (const int64_t size : tensor.shape) tensor.byte_length *= size;
  return tensor;
}

weights::WeightSource SourceOf(const program::WeightSpec& spec) {
  if (!spec.is_matrix) {
    weights::WeightSource vector{.kind = weights::SourceKind::kDense,
                                 .tensor = Tensor(weights::ElementType::kF32, {spec.cols})};
    vector.tensor.bytes.resize(static_cast<size_t>(vector.tensor.byte_length));
    return vector;
  }
  constexpr int64_t kBits = 4;
  constexpr int64_t kGroup = 64;
  return {.kind = weights::SourceKind::kAffine,
          .tensor = Tensor(weights::ElementType::kU32, {spec.rows, spec.cols * kBits / 32}),
          .bits = kBits,
          .group_size = kGroup,
          .scales = Tensor(weights::ElementType::kBf16, {spec.rows, spec.cols / kGroup}),
          .biases = Tensor(weights::ElementType::kBf16, {spec.rows, spec.cols / kGroup})};
}

DType KvTypeOf(const Napi::Value& kv_bits) {
  return kv_bits.IsNumber() && kv_bits.As<Napi::Number>().Int32Value() == 8 ? DTYPE_I8 : DTYPE_F16;
}

Napi::Value CountStep(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  try {
    const program::Program program = program::Parse(info[0]);
    program::Validate(program);
    const int64_t rows = info[1].As<Napi::Number>();
    const int64_t position = info[2].As<Napi::Number>();
    const DType kv_type = KvTypeOf(info[3]);
    const program::Limits limits{rows, 1, (rows + position) / BLOCK_TOKENS + 1, 1};
    std::vector<weights::WeightSource> sources;
    for (const program::WeightSpec& spec : program.weights) sources.push_back(SourceOf(spec));
    CountingDevice device;
    Weights weights(device, program, sources, {});
    const BoundProgram bound = Bind(device, program, weights, limits, {.is_fast = true, .kv_type = kv_type});
    StepEncoder encoder(device, bound);
    int64_t weight_bytes = 0;
    for (const Command& command : bound.commands) weight_bytes += command.weight_bytes;
    size_t token_bytes = 0;
    for (const KvMemory& layer : bound.kv_layers)
      token_bytes += (layer.key_bytes + layer.value_bytes) / BLOCK_TOKENS;
    Napi::Object counts = Napi::Object::New(env);
    counts.Set("dispatches", static_cast<double>(CountDispatches(encoder, limits, rows, position)));
    counts.Set("weightBytes", static_cast<double>(weight_bytes));
    counts.Set("cacheBytes", static_cast<double>(token_bytes) * static_cast<double>(position + rows));
    return counts;
  } catch (const std::exception& error) {
    throw Napi::Error::New(env, error.what());
  }
}

Napi::Object Initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("countStep", Napi::Function::New(env, CountStep));
  return exports;
}

}  // namespace

NODE_API_MODULE(anllm_count, Initialize)

}  // namespace anllm::metal
