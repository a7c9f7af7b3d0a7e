#include "parse_source.h"

#include "../program/fields.h"

namespace anllm::weights {
namespace {

using program::Fields;

constexpr int64_t kMaxBytes = int64_t{1} << 52;  // exact in a JavaScript number

constexpr std::pair<const char*, ElementType> kElementTypes[] = {{"F32", ElementType::kF32},
                                                                 {"F16", ElementType::kF16},
                                                                 {"BF16", ElementType::kBf16},
                                                                 {"U32", ElementType::kU32},
                                                                 {"U8", ElementType::kU8}};
constexpr std::pair<const char*, SourceKind> kKinds[] = {{"dense", SourceKind::kDense},
                                                         {"affine", SourceKind::kAffine},
                                                         {"microscaled", SourceKind::kMicroscaled},
                                                         {"gguf", SourceKind::kGguf}};

/** The bytes that native.ts gathered, if any. */
std::vector<uint8_t> ParseBytes(const Fields& f) {
  const Napi::Value value = f.Value("bytes");
  if (value.IsUndefined()) return {};
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    program::Expected(f.place() + " bytes", value, "a Uint8Array");
  }
  const auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.Data() + array.ByteLength()};
}

StoredTensor ParseTensor(const Fields& f) {
  StoredTensor tensor{
      f.String("name"), OneOf(f, "dtype", kElementTypes),          {},
      f.String("file"), f.Integer("offset", 0, kMaxBytes),         f.Integer("byteLength", 0, kMaxBytes),
      ParseBytes(f),    f.Has("isAbsent") && f.Boolean("isAbsent")};
  f.ForEach("shape", [&](const Napi::Value& value, const std::string& place) {
    tensor.shape.push_back(program::ToInteger(value, place, 0, kMaxBytes));
  });
  return tensor;
}

}  // namespace

WeightSource ParseSource(const Napi::Value& value, const std::string& place) {
  const Fields f(value, place);
  const SourceKind kind = OneOf(f, "kind", kKinds);
  switch (kind) {
    case SourceKind::kDense:
      return {kind, ParseTensor(f.Object("tensor")), "", 0, 0, {}, {}};
    case SourceKind::kGguf:
      return {kind, ParseTensor(f.Object("tensor")), f.String("type"), 0, 0, {}, {}};
    case SourceKind::kMicroscaled:
      return {kind, ParseTensor(f.Object("packed")),      f.String("mode"),
              0,    f.Integer("groupSize", 1, kMaxBytes), ParseTensor(f.Object("scales")),
              {}};
    case SourceKind::kAffine:
      break;
  }
  return {kind,
          ParseTensor(f.Object("packed")),
          "",
          f.Integer("bits", 1, 64),
          f.Integer("groupSize", 1, kMaxBytes),
          ParseTensor(f.Object("scales")),
          ParseTensor(f.Object("biases"))};
}

}  // namespace anllm::weights
