#include "services/worker/data/load_dataset.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/worker/data/cifar10.h"
#include "services/worker/data/mnist.h"
#include "services/worker/data/synthetic.h"

namespace paceline {

absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  if (!parts.second.empty()) {
    const std::string rest(parts.second);
    if (parts.first == "mnist") return LoadMnist(rest, split);
    if (parts.first == "cifar10") return LoadCifar10(rest, split);
    if (parts.first == "synthetic") return DrawSynthetic(rest, split);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "data \"", spec, "\": want mnist:DIR, cifar10:DIR or synthetic:NAME"));
}

}  // namespace paceline
