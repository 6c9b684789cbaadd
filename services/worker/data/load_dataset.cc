#include "services/worker/data/load_dataset.h"

#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/status.h"
#include "services/worker/data/cifar10.h"
#include "services/worker/data/data_names.h"
#include "services/worker/data/mnist.h"
#include "services/worker/data/synthetic.h"

namespace paceline {

absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split) {
  PACELINE_RETURN_IF_ERROR(CheckDataSpec(spec));
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  const std::string rest(parts.second);
  if (parts.first == kMnist) return LoadMnist(rest, split);
  if (parts.first == kCifar10) return LoadCifar10(rest, split);
  return DrawSynthetic(rest, split);
}

}  // namespace paceline
