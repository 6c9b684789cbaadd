#include "services/worker/data/load_dataset.h"

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/status.h"
#include "services/worker/data/cifar10.h"
#include "services/worker/data/data_names.h"
#include "services/worker/data/mnist.h"
#include "services/worker/data/synthetic.h"

namespace paceline {

absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split,
                                    absl::string_view root) {
  PACELINE_RETURN_IF_ERROR(CheckDataSpec(spec));
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(spec, absl::MaxSplits(':', 1));
  if (parts.first == kSynthetic) return DrawSynthetic(parts.second, split);
  const std::string folder =
      (std::filesystem::path(std::string(root)) / std::string(parts.second))
          .lexically_normal()
          .string();
  return parts.first == kMnist ? LoadMnist(folder, split)
                               : LoadCifar10(folder, split);
}

}  // namespace paceline
