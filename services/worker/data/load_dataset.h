#ifndef PACELINE_SERVICES_WORKER_DATA_LOAD_DATASET_H_
#define PACELINE_SERVICES_WORKER_DATA_LOAD_DATASET_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/worker/data/dataset.h"

namespace paceline {

// Loads one split of what a --data flag names: "mnist:DIR", "cifar10:DIR" or
// "synthetic:NAME"; a relative DIR is one below `root`. INVALID_ARGUMENT for
// anything else; else as LoadMnist, LoadCifar10 and DrawSynthetic say.
absl::StatusOr<Dataset> LoadDataset(absl::string_view spec, Split split,
                                    absl::string_view root = ".");

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_LOAD_DATASET_H_
