#include "common/job/names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paceline {
namespace {

constexpr absl::string_view kModels[] = {kLogreg,       kMlp,      kLenet5,
                                         kAlexnetSmall, kResnet20, kResnet32,
                                         kResnet50,     kResnet110};
constexpr absl::string_view kSyntheticNames[] = {kShapes, kTiny, kColorShapes};

// INVALID_ARGUMENT unless `name` is one of `names`, which are `what`.
absl::Status CheckAmong(absl::string_view what, absl::string_view name,
                        absl::Span<const absl::string_view> names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown ", what, " \"", name,
                                                 "\"; there are ",
                                                 absl::StrJoin(names, ", ")));
}

}  // namespace

absl::Span<const absl::string_view> ModelNames() { return kModels; }

absl::Status CheckModelName(absl::string_view name) {
  return CheckAmong("model", name, kModels);
}

std::optional<absl::string_view> ProgramOf(absl::string_view model) {
  // Without Abseil's functions for it, which a machine with a GPU may not have.
  if (model.substr(0, kProgramPrefix.size()) != kProgramPrefix) {
    return std::nullopt;
  }
  return model.substr(kProgramPrefix.size());
}

absl::Status CheckSyntheticName(absl::string_view name) {
  return CheckAmong("synthetic data", name, kSyntheticNames);
}

absl::Status CheckDataSpec(absl::string_view spec) {
  const size_t colon = std::min(spec.find(':'), spec.size());
  const absl::string_view kind = spec.substr(0, colon);
  if (colon + 1 < spec.size()) {
    if (kind == kMnist || kind == kCifar10 || kind == kCifar100) {
      return absl::OkStatus();
    }
    if (kind == kSynthetic) return CheckSyntheticName(spec.substr(colon + 1));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("data \"", spec, "\": want ", kDataForms));
}

}  // namespace paceline
