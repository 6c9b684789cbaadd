#include "services/worker/data/data_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace paceline {
namespace {

constexpr absl::string_view kSyntheticNames[] = {kShapes, kTiny, kColorShapes};

}  // namespace

absl::Status CheckSyntheticName(absl::string_view name) {
  const auto* const end = std::end(kSyntheticNames);
  if (std::find(std::begin(kSyntheticNames), end, name) != end) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown synthetic data \"", name, "\"; there are ",
                   absl::StrJoin(kSyntheticNames, ", ")));
}

absl::Status CheckDataSpec(absl::string_view spec) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  if (!parts.second.empty()) {
    if (parts.first == kMnist || parts.first == kCifar10) {
      return absl::OkStatus();
    }
    if (parts.first == kSynthetic) return CheckSyntheticName(parts.second);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "data \"", spec, "\": want mnist:DIR, cifar10:DIR or synthetic:NAME"));
}

}  // namespace paceline
