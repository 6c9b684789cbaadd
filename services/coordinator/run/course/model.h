#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace paceline {

// A named tensor of the model that a worker has built.
struct ModelTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t size = 0;        // Elements.
  bool statistic = false;  // Batch-norm statistics: averaged, not optimized.

  friend bool operator==(const ModelTensor&, const ModelTensor&) = default;
};

// What a worker says of the job once its data and its model are there.
struct WorkerModel {
  std::vector<ModelTensor> tensors;
  uint32_t train_samples = 0;

  // Elements of all tensors, or of those that the optimizer changes.
  int64_t Elements() const;
  int64_t Parameters() const;
};

// Whether a worker's model can be one: the coordinator cuts it into blocks and
// writes it into manifests before anybody else looks at it. INVALID_ARGUMENT,
// naming the tensor, unless names are there and used once, sizes are the
// products of their shapes, and all of it is at most a terabyte of fp32.
absl::Status CheckModel(const std::vector<ModelTensor>& tensors);

// FAILED_PRECONDITION, with what to do, if somebody with `other` cannot take
// part in training `agreed`; who only evaluates may have other training data.
absl::Status CheckAgreement(const WorkerModel& agreed, const WorkerModel& other,
                            bool trainer);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_
