#ifndef PACELINE_SERVICES_WORKER_DATA_DATA_NAMES_H_
#define PACELINE_SERVICES_WORKER_DATA_DATA_NAMES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The kinds of data that there are, without what loads them: whoever only
// checks a spec needs no loader.
inline constexpr absl::string_view kMnist = "mnist";
inline constexpr absl::string_view kCifar10 = "cifar10";
inline constexpr absl::string_view kSynthetic = "synthetic";

// The NAMEs of synthetic:NAME.
inline constexpr absl::string_view kShapes = "shapes";
inline constexpr absl::string_view kTiny = "tiny";
inline constexpr absl::string_view kColorShapes = "color-shapes";

// INVALID_ARGUMENT, with what there is, unless `name` is a synthetic data set.
absl::Status CheckSyntheticName(absl::string_view name);

// INVALID_ARGUMENT, with what would be right, unless `spec` is mnist:DIR,
// cifar10:DIR or synthetic:NAME with a NAME that there is. Whether a DIR holds
// the data only its machine can tell.
absl::Status CheckDataSpec(absl::string_view spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_DATA_NAMES_H_
