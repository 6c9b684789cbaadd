#ifndef PACELINE_COMMON_TENSOR_TENSOR_KIND_H_
#define PACELINE_COMMON_TENSOR_TENSOR_KIND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace paceline {

// What the parameter servers do with what is pushed for a tensor. The numbers
// are those of the protos.
enum class TensorKind : uint8_t {
  kTrained = 0,    // Gradients, for the optimizer.
  kStatistic = 1,  // A batch's value: the tensor follows it (batch norm).
  kAveraged = 2,   // A value that takes the tensor's place.
  kFrozen = 3,     // Nothing is pushed, and it is pulled once.
};

// "trained", "statistic", "averaged", "frozen", by their numbers.
inline constexpr std::array<absl::string_view, 4> kTensorKindNames = {
    "trained", "statistic", "averaged", "frozen"};

constexpr absl::string_view TensorKindName(TensorKind kind) {
  return kTensorKindNames[static_cast<size_t>(kind)];
}

// The reverse; nothing for any other text.
constexpr std::optional<TensorKind> TensorKindOf(absl::string_view name) {
  for (size_t i = 0; i < kTensorKindNames.size(); ++i) {
    if (kTensorKindNames[i] == name) return static_cast<TensorKind>(i);
  }
  return std::nullopt;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_TENSOR_KIND_H_
