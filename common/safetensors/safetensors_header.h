#ifndef PACELINE_COMMON_SAFETENSORS_SAFETENSORS_HEADER_H_
#define PACELINE_COMMON_SAFETENSORS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// The header of a safetensors file (github.com/huggingface/safetensors):
//   8 bytes   N, little endian: the header's size
//   N bytes   JSON, {"NAME": {"dtype": "F32", "shape": [2, 3],
//             "data_offsets": [begin, end]}, ..., "__metadata__": {"k": "v"}},
//             padded with blanks
//   the rest  the tensors' bytes, little endian, row-major; the offsets count
//             from here
// Tensors lie one after the other: no overlap, no hole, nothing behind.

enum class SafetensorsType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kF64,
  kI64,
  kU64,
};

// Bytes of one element.
size_t ElementBytes(SafetensorsType type);
// "F32", "BF16", ...
absl::string_view TypeName(SafetensorsType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<uint64_t> shape;  // None: one element.
  // Where its bytes lie within the data. A writer sets these itself.
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const SafetensorsTensor&,
                         const SafetensorsTensor&) = default;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsTensor> tensors;  // By `begin`.

  friend bool operator==(const SafetensorsHeader&,
                         const SafetensorsHeader&) = default;
};

inline constexpr uint64_t kSafetensorsHeaderMax = 100'000'000;  // Bytes.
inline constexpr size_t kSafetensorsPrefix = 8;                 // The N.

// N, of a file of `file_bytes` that begins with `prefix`. DATA_LOSS if it is
// more than the format allows or the file has.
// REQUIRES: kSafetensorsPrefix bytes in `prefix`.
absl::StatusOr<uint64_t> ParseHeaderSize(absl::string_view prefix,
                                         uint64_t file_bytes);

// The header's JSON, before `data_bytes` of data. Bounded in memory by the
// text, whatever it is. DATA_LOSS, saying where, for everything that the format
// forbids, names given twice and fields it does not know included.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         uint64_t data_bytes);

// Places the tensors one after the other and gives what stands before their
// bytes: N and the JSON, padded so that the data begin at a multiple of 8.
// INVALID_ARGUMENT: a name twice or reserved or not UTF-8, a size that
// overflows. RESOURCE_EXHAUSTED: the header would be larger than the format
// allows.
absl::StatusOr<std::string> FormatSafetensorsHeader(
    const std::map<std::string, std::string>& metadata,
    absl::Span<SafetensorsTensor> tensors);

}  // namespace paceline

#endif  // PACELINE_COMMON_SAFETENSORS_SAFETENSORS_HEADER_H_
