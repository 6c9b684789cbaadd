#ifndef PACELINE_SERVICES_WORKER_REPLICAS_REPLICATED_MODEL_H_
#define PACELINE_SERVICES_WORKER_REPLICAS_REPLICATED_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/types/span.h"
#include "common/work_queue.h"
#include "gpu/backend.h"
#include "services/worker/data/image_shape.h"
#include "services/worker/model/model.h"

namespace paceline {

// A model on one device, or on several of one machine: each has a replica and
// computes a part of every micro-batch, on a thread of its own but for the
// first, and the parts' gradients are summed on the first before they leave
// (Chen et al., "MXNet: A Flexible and Efficient Machine Learning Library for
// Heterogeneous Distributed Systems", 2015, section 3.3: the level-1 server).
// So they are those of the whole micro-batch, but for rounding: the same calls
// on the same values give the same bits, whichever device is done first. Batch
// normalization has the statistics of each part; what is pushed of them is
// their mean weighted by samples.
//
// The calls are those of Model, and so is what they require. On one device they
// come to nothing else. Thread-compatible.
class ReplicatedModel {
 public:
  // Errors as Model::Create; with several devices they name the device.
  // REQUIRES: at least one backend, all of one kind; they outlive the model.
  static absl::StatusOr<std::unique_ptr<ReplicatedModel>> Create(
      absl::string_view name, const ImageShape& input, int classes,
      absl::Span<Backend* const> backends, int batch_max,
      DType wire = DType::kF32);

  // What is pulled and pushed: its parameters are everybody's, its gradients
  // everybody's sum once they are fetched. It evaluates alone.
  Model& first() { return *first_; }

  // Whether ComputeStaged() takes on_ready.
  bool overlaps() const { return others_.empty(); }

  absl::Status Initialize(uint64_t seed);
  void ParameterArrived(size_t tensor);
  absl::Status ParametersChanged();

  void Stage(const float* images, const uint8_t* labels, int n);
  void DropStaged();

  // Of several devices the first one's error counts, in their order.
  // between_tensors is called on every thread that computes.
  // REQUIRES: on_ready is null, unless overlaps().
  absl::StatusOr<BatchLoss> ComputeStaged(float scale, bool first,
                                          const StepCalls& calls = {});
  void ScaleGradients(float factor);
  absl::Status FetchGradients();
  absl::Status repeat_obstacle() const;

 private:
  struct Batch {
    const float* images = nullptr;
    const uint8_t* labels = nullptr;
    int n = 0;
  };

  // On a device that is not the first.
  struct Replica {
    size_t index = 0;  // Among all devices.
    std::unique_ptr<Model> model;
    bool staged = false;  // Its part of the oldest micro-batch that is staged.
    // Its gradients are of this step, and the first's do not hold them yet.
    bool apart = false;
    absl::StatusOr<BatchLoss> loss;
    absl::Status fetched;
    std::optional<absl::Notification> done;  // What its thread has in hand.
    std::unique_ptr<WorkQueue> thread;       // Last: it uses the above.
  };

  ReplicatedModel() = default;

  // As equal as can be, the first ones the larger; some are empty where there
  // are fewer samples than devices.
  Batch PartOf(const Batch& batch, size_t device) const;
  void StagePart(Replica& replica, const Batch& batch);
  // `next_known`: the micro-batch behind `batch` is staged, if there is one.
  void ComputePart(Replica& replica, const Batch& batch, float scale,
                   const StepCalls& calls,
                   const absl::Notification& next_known);
  // Has `run` done for each replica by its thread, and waits for it.
  void OnEach(
      const std::function<void(Replica&)>& run,
      const std::function<void()>& meanwhile = [] {});
  absl::Status OfDevice(const absl::Status& status, size_t device) const;

  int64_t pixels_ = 0;
  std::unique_ptr<Model> first_;
  std::vector<std::unique_ptr<Replica>> others_;
  std::deque<Batch> staged_;  // The oldest first. Empty with one device.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_REPLICAS_REPLICATED_MODEL_H_
