#include <algorithm>
#include <cstring>

#include "../error.h"
#include "../kernels/scratch.h"
#include "format.h"

namespace anllm::weights {
namespace {

/** Columns that are unpacked at once; groups are multiples of it. */
constexpr int kColumns = 32;
constexpr int64_t kMaxQuads = kGroupSizes[kNumGroupSizes - 1] / 4;

/** 8 codes of 4 bits as a quad of low and a quad of high nibbles: code k in byte k % 4. */
uint32_t ShuffleNibbles(uint32_t word) {
  // Nibbles 01234567 become 01452367, and these 04152637.
  const uint32_t middle = (word ^ word >> 8) & 0x0000ff00;
  word ^= middle ^ middle << 8;
  const uint32_t inner = (word ^ word >> 4) & 0x00f000f0;
  return word ^ inner ^ inner << 4;
}

/** 8 codes of kBits bits, the first in the lowest bits, as 8 fields of kField bits. */
template <int kBits, int kField>
uint64_t Widen(uint64_t word) {
  constexpr uint64_t kMask = (1u << kBits) - 1;
  uint64_t fields = 0;
  for (int k = 0; k < 8; k++) fields |= (word >> (kBits * k) & kMask) << (kField * k);
  return fields;
}

/**
 * One row's codes of a group, `columns` of them in a stream of kBits each, as quads of nibbles or bytes (see
 * kernels/matrix.h).
 */
template <int kBits>
void UnpackQuads(const uint8_t* stream, int64_t columns, uint32_t* quads) {
  constexpr int kWords = kColumns / 8;
  for (int64_t c = 0; c < columns; c += kColumns) {
    // Words are 8 codes: kBits bytes. Arrays of constant size, so that compilers see vectors.
    if constexpr (kBits == 4) {
      uint32_t words[kWords];
      std::memcpy(words, stream, sizeof(words));
      for (uint32_t& word : words) word = ShuffleNibbles(word);
      std::memcpy(quads, words, sizeof(words));
      quads += kWords;
    } else if constexpr (kBits < 4) {
      for (int i = 0; i < kWords; i++) {
        uint64_t word = 0;
        std::memcpy(&word, stream + i * kBits, kBits);
        *quads++ = ShuffleNibbles(static_cast<uint32_t>(Widen<kBits, 4>(word)));
      }
    } else if constexpr (kBits < 8) {
      for (int i = 0; i < kWords; i++, quads += 2) {
        uint64_t word = 0;
        std::memcpy(&word, stream + i * kBits, kBits);
        const uint64_t bytes = Widen<kBits, 8>(word);
        std::memcpy(quads, &bytes, sizeof(bytes));
      }
    } else {
      std::memcpy(quads, stream, kColumns);
      quads += kColumns / 4;
    }
    stream += kWords * kBits;
  }
}

using Unpacker = void (*)(const uint8_t*, int64_t, uint32_t*);

Unpacker UnpackerFor(int64_t bits) {
  switch (bits) {
    case 2:
      return UnpackQuads<2>;
    case 3:
      return UnpackQuads<3>;
    case 4:
      return UnpackQuads<4>;
    case 5:
      return UnpackQuads<5>;
    case 6:
      return UnpackQuads<6>;
    case 8:
      return UnpackQuads<8>;
    default:
      return nullptr;
  }
}

/** Scalars of one group, `stride` bytes from row to row, to neighbouring lanes. */
template <class Bits>
void GatherScalars(const uint8_t* source, int64_t stride, int64_t lanes, uint8_t* target) {
  for (int64_t lane = 0; lane < lanes; lane++, source += stride, target += sizeof(Bits)) {
    std::memcpy(target, source, sizeof(Bits));
  }
}

/** MLX's affine quantization with 2 to 8 bits; codes of up to 4 bits become nibbles, larger ones bytes. */
class AffineFormat : public Format {
 public:
  AffineFormat(const WeightSource& source, const program::WeightSpec& spec, Files* files)
      : source_(source),
        rows_(spec.rows),
        cols_(spec.cols),
        unpack_(UnpackerFor(source.bits)),
        files_(*files) {
    CheckAffine(source, spec);
    for (const StoredTensor* tensor : {&source_.tensor, &source_.scales, &source_.biases})
      files->Open(*tensor);
  }

  Matrix Layout() const override {
    const int64_t groups = cols_ / source_.group_size;
    return {nullptr,
            rows_,
            cols_,
            groups * GroupBytes(),
            source_.group_size,
            IsNibbles() ? Coding::kNibbles : Coding::kBytes,
            ScalarOf(source_.scales)};
  }

  void Pack(int64_t first, int64_t last, uint8_t* target) const override {
    const int64_t begin = first * kBlockRows;
    const int64_t end = std::min(rows_, last * kBlockRows);
    const int64_t groups = cols_ / source_.group_size;
    const int64_t row_bytes = cols_ * source_.bits / 8;
    const int64_t scalar_bytes = BytesOf(source_.scales.type);
    const int64_t row_scalars = groups * scalar_bytes;
    const Bytes codes = files_.Read(source_.tensor, begin * row_bytes, end * row_bytes);
    const Bytes scales = files_.Read(source_.scales, begin * row_scalars, end * row_scalars);
    const Bytes biases = files_.Read(source_.biases, begin * row_scalars, end * row_scalars);
    CheckFinite(source_.scales, scales);
    CheckFinite(source_.biases, biases);
    const auto gather = scalar_bytes == 4 ? GatherScalars<uint32_t> : GatherScalars<uint16_t>;
    for (int64_t row = begin; row < end; row += kBlockRows) {
      const int64_t lanes = std::min(kBlockRows, end - row);
      const uint8_t* block_codes = codes.data() + (row - begin) * row_bytes;
      const int64_t first_scalar = (row - begin) * row_scalars;
      for (int64_t g = 0; g < groups; g++, target += GroupBytes()) {
        PackCodes(block_codes + g * row_bytes / groups, row_bytes, lanes, target);
        uint8_t* scalars = target + CodesBytes();
        const int64_t at = first_scalar + g * scalar_bytes;
        gather(scales.data() + at, row_scalars, lanes, scalars);
        gather(biases.data() + at, row_scalars, lanes, scalars + kBlockRows * scalar_bytes);
      }
    }
  }

 private:
  /** A group's codes of `lanes` rows, which begin `stride` bytes from each other. */
  void PackCodes(const uint8_t* codes, int64_t stride, int64_t lanes, uint8_t* target) const {
    uint32_t quads[kBlockRows][kMaxQuads];
    for (int64_t lane = 0; lane < lanes; lane++)
      unpack_(codes + lane * stride, source_.group_size, quads[lane]);
    const int64_t count = CodesBytes() / (4 * kBlockRows);
    for (int64_t i = 0; i < count; i++, target += 4 * kBlockRows) {
      for (int64_t lane = 0; lane < lanes; lane++) std::memcpy(target + 4 * lane, &quads[lane][i], 4);
    }
  }

  bool IsNibbles() const { return source_.bits <= 4; }
  /** Bytes of a group's codes of all rows of a block. */
  int64_t CodesBytes() const { return source_.group_size * kBlockRows / (IsNibbles() ? 2 : 1); }
  int64_t GroupBytes() const { return CodesBytes() + 2 * kBlockRows * BytesOf(source_.scales.type); }

  const WeightSource source_;
  const int64_t rows_;
  const int64_t cols_;
  const Unpacker unpack_;
  const Files& files_;
};

}  // namespace

void CheckAffine(const WeightSource& source, const program::WeightSpec& spec) {
  const std::string place = source.tensor.file + ": " + source.tensor.name;
  if (UnpackerFor(source.bits) == nullptr) {
    throw Unsupported(place + ": got " + std::to_string(source.bits) + " bits, expected 2, 3, 4, 5, 6 or 8");
  }
  const int64_t size = source.group_size;
  if (size != 32 && size != 64 && size != 128) {
    throw Unsupported(place + ": got groups of " + std::to_string(size) + ", expected 32, 64 or 128");
  }
  if (spec.cols % size != 0) {
    throw BadModel(place + ": got " + std::to_string(spec.cols) + " columns, expected a multiple of " +
                   std::to_string(size));
  }
  if (source.tensor.type != ElementType::kU32) throw BadModel(place + ": expected packed codes as U32");
  CheckTensor(source.tensor, spec.rows, spec.cols * source.bits / 32);
  CheckTensor(source.scales, spec.rows, spec.cols / size);
  CheckTensor(source.biases, spec.rows, spec.cols / size);
  if (source.scales.type != source.biases.type) throw BadModel(place + ": scales and biases differ in type");
}

std::unique_ptr<Format> MakeAffineFormat(const WeightSource& source, const program::WeightSpec& spec,
                                         Files* files) {
  return std::make_unique<AffineFormat>(source, spec, files);
}

}  // namespace anllm::weights
