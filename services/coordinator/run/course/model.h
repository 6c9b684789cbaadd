#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tensor/tensor_kind.h"

namespace paceline {

// A named tensor of the model that a worker has built.
struct ModelTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t size = 0;  // Elements.
  TensorKind kind = TensorKind::kTrained;
  // What it has of its own (types.proto); nothing: as all others.
  std::optional<double> rate_factor = {};
  std::optional<double> weight_decay = {};
  std::optional<double> momentum = {};

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
// products of their shapes, all of it is at most a terabyte of fp32, some of it
// can be trained, and what a tensor has of its own is in range.
absl::Status CheckModel(const std::vector<ModelTensor>& tensors);

// How far two models are compared, tensor by tensor in their order.
enum class Sameness : uint8_t {
  kNamesAndShapes,
  kKinds,  // And what the servers do with them.
  kAll,    // And what each has of its own.
};

// What is different in the first tensor that differs: "tensor "fc.weight" is
// [1000, 512] here and [10, 512] at worker w0", where `there` is "at worker
// w0". Empty if nothing is.
std::string FirstDifference(absl::Span<const ModelTensor> ours,
                            absl::Span<const ModelTensor> theirs,
                            absl::string_view there, Sameness sameness);

// FAILED_PRECONDITION, naming what differs, if somebody with `other` cannot
// take part in training `agreed`, which is the model of `worker`. Who only
// evaluates may have other training data, and may know nothing of what the
// servers do.
absl::Status CheckAgreement(const WorkerModel& agreed, absl::string_view worker,
                            const WorkerModel& other, bool trainer);

// FAILED_PRECONDITION, naming the first tensor of the model that `weights` has
// not or has in another shape. What it has besides is not looked at.
absl::Status HasWeights(const std::vector<ModelTensor>& model,
                        const std::vector<ModelTensor>& weights);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_MODEL_H_
