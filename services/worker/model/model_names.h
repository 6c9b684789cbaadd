#ifndef PACELINE_SERVICES_WORKER_MODEL_MODEL_NAMES_H_
#define PACELINE_SERVICES_WORKER_MODEL_MODEL_NAMES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// The models that there are, without what computes them: whoever only checks a
// name needs no layers.
inline constexpr absl::string_view kLogreg = "logreg";
inline constexpr absl::string_view kMlp = "mlp";
inline constexpr absl::string_view kLenet5 = "lenet5";
inline constexpr absl::string_view kAlexnetSmall = "alexnet-small";
inline constexpr absl::string_view kResnet20 = "resnet20";
inline constexpr absl::string_view kResnet32 = "resnet32";
inline constexpr absl::string_view kResnet50 = "resnet50";
inline constexpr absl::string_view kResnet110 = "resnet110";

// All of them, in the order in which they are listed to people.
absl::Span<const absl::string_view> ModelNames();

// INVALID_ARGUMENT, with the names that there are, unless `name` is one.
absl::Status CheckModelName(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_MODEL_NAMES_H_
