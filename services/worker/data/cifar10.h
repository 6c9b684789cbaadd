#ifndef PACELINE_SERVICES_WORKER_DATA_CIFAR10_H_
#define PACELINE_SERVICES_WORKER_DATA_CIFAR10_H_

#include <string>

#include "absl/status/statusor.h"
#include "services/worker/data/dataset.h"

namespace paceline {

// Reads one split of CIFAR-10's binary version (Krizhevsky, "Learning Multiple
// Layers of Features from Tiny Images", 2009): for training whichever of
// data_batch_1.bin to data_batch_5.bin are in `folder`, at least one; for
// testing test_batch.bin. Records of one label byte and 3072 pixel bytes.
//
// NOT_FOUND for a missing file; DATA_LOSS for one that holds no whole number
// of records, or more than 100,000, or a label above 9.
absl::StatusOr<Dataset> LoadCifar10(const std::string& folder, Split split);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_CIFAR10_H_
