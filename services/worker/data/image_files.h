#ifndef PACELINE_SERVICES_WORKER_DATA_IMAGE_FILES_H_
#define PACELINE_SERVICES_WORKER_DATA_IMAGE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "services/worker/data/dataset.h"

namespace paceline {

// Reads one split from the standard files in `folder`, plain or .gz:
// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte,
// t10k-labels-idx1-ubyte (format: LeCun, Cortes and Burges, "The MNIST
// Database"). Images of any size up to 1024x1024 with 10 classes are taken, so
// that look-alikes such as Fashion-MNIST work.
//
// NOT_FOUND for a missing file; DATA_LOSS for one that is truncated, too long,
// of another kind, or beyond the limits; INVALID_ARGUMENT if there are not as
// many labels as images.
absl::StatusOr<Dataset> LoadMnist(const std::string& folder, Split split);

// Reads one split of CIFAR-10's binary version (Krizhevsky, "Learning Multiple
// Layers of Features from Tiny Images", 2009): for training whichever of
// data_batch_1.bin to data_batch_5.bin are in `folder`, at least one; for
// testing test_batch.bin. Records of one label byte and 3072 pixel bytes.
//
// NOT_FOUND for a missing file; DATA_LOSS for one that holds no whole number
// of records, or more than 100,000, or a label above 9.
absl::StatusOr<Dataset> LoadCifar10(const std::string& folder, Split split);

// The same of CIFAR-100: train.bin for training, test.bin for testing. Records
// of a byte with one of 20 coarse labels, which is not used, a byte with one of
// 100 fine labels, and 3072 pixel bytes.
//
// NOT_FOUND and DATA_LOSS as LoadCifar10, with labels up to 99.
absl::StatusOr<Dataset> LoadCifar100(const std::string& folder, Split split);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_IMAGE_FILES_H_
