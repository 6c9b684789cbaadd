#include "common/job/names.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paceline {
namespace {

constexpr absl::string_view kModels[] = {
    kLogreg,     kMlp,        kLenet5,     kAlexnetSmall,
    kResnet20,   kResnet32,   kResnet50,   kResnet110,
    kResnet20V2, kResnet32V2, kResnet50V2, kResnet110V2};
constexpr absl::string_view kAugment = ",augment=";
constexpr absl::string_view kAugments[] = {kCropFlip, kCrop28Flip};
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

absl::StatusOr<DataSpec> ParseDataSpec(absl::string_view spec) {
  const auto refused = [spec](absl::string_view why, absl::string_view more) {
    return absl::InvalidArgumentError(
        absl::StrCat("data \"", spec, "\": ", why, more));
  };
  const size_t colon = std::min(spec.find(':'), spec.size());
  DataSpec data{.kind = spec.substr(0, colon)};
  if (colon < spec.size()) data.place = spec.substr(colon + 1);
  const bool cifar = data.kind == kCifar10 || data.kind == kCifar100;
  const size_t option = data.place.rfind(kAugment);
  if (option != absl::string_view::npos) {
    if (!cifar) return refused("only cifar10 and cifar100 take augment", "");
    data.augment = data.place.substr(option + kAugment.size());
    if (std::ranges::find(kAugments, data.augment) == std::end(kAugments)) {
      return refused("the only augments are ", absl::StrJoin(kAugments, ", "));
    }
    data.place = data.place.substr(0, option);
  }
  if (!data.place.empty()) {
    if (cifar || data.kind == kMnist) return data;
    if (data.kind == kSynthetic) {
      const absl::Status known = CheckSyntheticName(data.place);
      if (!known.ok()) return known;
      return data;
    }
  }
  return refused("want ", kDataForms);
}

absl::Status CheckDataSpec(absl::string_view spec) {
  return ParseDataSpec(spec).status();
}

}  // namespace paceline
