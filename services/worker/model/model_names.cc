#include "services/worker/model/model_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paceline {
namespace {

constexpr absl::string_view kAll[] = {kLogreg,       kMlp,      kLenet5,
                                      kAlexnetSmall, kResnet20, kResnet32,
                                      kResnet50,     kResnet110};

}  // namespace

absl::Span<const absl::string_view> ModelNames() { return kAll; }

absl::Status CheckModelName(absl::string_view name) {
  const auto names = ModelNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown model \"", name, "\"; there are ", absl::StrJoin(names, ", ")));
}

}  // namespace paceline
