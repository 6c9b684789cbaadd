#ifndef PACELINE_SERVICES_WORKER_DATA_MNIST_H_
#define PACELINE_SERVICES_WORKER_DATA_MNIST_H_

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_MNIST_H_
