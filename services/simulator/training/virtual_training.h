#ifndef PACELINE_SERVICES_SIMULATOR_TRAINING_VIRTUAL_TRAINING_H_
#define PACELINE_SERVICES_SIMULATOR_TRAINING_VIRTUAL_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/job/optimizer_spec.h"
#include "common/sample_range.h"
#include "gpu/backend.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/sync/core/placement.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/update_rule.h"
#include "services/simulator/cluster_observer.h"
#include "services/simulator/training/local_steps.h"
#include "services/worker/data/batch_loader.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"

namespace paceline {

// What a simulation trains, and how; the fields of a job of the same names.
struct TrainingSpec {
  std::string model;
  OptimizerSpec optimizer;
  RoundStrength round_strength = RoundStrength::kLinear;
  uint32_t batch_size = 32;
  uint32_t micro_batch = 0;  // 0: the batch size.
  // Above 0: a worker moves its weights after each micro-batch, at this rate,
  // and pushes how far they came.
  double local_rate = 0;
  uint64_t seed = 1;
};

// Trains for real in virtual time: each virtual worker computes its gradients
// on the weights that it pulled, a parameter server's own code keeps and
// updates the blocks, and every snapshot is evaluated on the test set. One
// model computes for all workers, one after the other; what a worker pulled is
// kept by reference.
//
// Numbers travel as fp32. A push whose loss is not finite changes nothing, but
// the cluster, which knows only times, counts it like another one, where a real
// one would record its discard. The same calls give the same bits.
// Thread-compatible.
class VirtualTraining : public ClusterObserver {
 public:
  // `train` and `test` outlive it. The errors of Model::Create() and
  // JobShard::Create().
  static absl::StatusOr<std::unique_ptr<VirtualTraining>> Create(
      const TrainingSpec& spec, const Dataset* train, const Dataset* test);

  void Pulled(Nanos at, const Grant& grant) override;
  void PushTaken(Nanos at, const Grant& grant, uint32_t samples,
                 PushReport& report) override;
  void Closed(Nanos at, const CloseCommand& close,
              std::optional<ClosedGradient>& gradient) override;
  void SnapshotTaken(Nanos at, const SnapshotCommand& taken,
                     MemberEvaluated& evaluated) override;

  // The first thing that went wrong; nothing was computed after it.
  const absl::Status& status() const { return status_; }
  const std::vector<AccuracyPoint>& accuracy() const { return accuracy_; }
  // Blocks of gradients, or whole ones after a loss, that were not finite.
  int64_t refused_blocks() const { return refused_blocks_; }

 private:
  VirtualTraining(const TrainingSpec& spec, const Dataset* train,
                  const Dataset* test)
      : spec_(spec), test_(*test), loader_(train, spec.seed) {}

  absl::Status Prepare(const Dataset& train);
  absl::StatusOr<PulledBlocks> Pull(WorkerId worker, Closing closing,
                                    bool keep);
  absl::Status Load(const PulledBlocks& weights);
  // Gives the mean loss; nothing if it is not finite.
  absl::StatusOr<std::optional<double>> ComputeGradient(const Grant& grant,
                                                        uint32_t samples);
  // Adds the loss of the micro-batches of a range to `loss`; false if it is not
  // finite.
  absl::StatusOr<bool> ComputeRange(const SampleRange& range, uint32_t piece,
                                    uint32_t samples, bool& first,
                                    double& loss);
  // What is pushed for the tensor.
  absl::Span<const float> GradientOf(size_t tensor) const {
    return local_.has_value() ? local_->pushed(tensor)
                              : model_->gradient(tensor);
  }
  absl::Status Push(const Grant& grant, uint32_t samples, PushReport& report);
  absl::Status Train(const Grant& grant, uint32_t samples, PushReport& report);
  absl::Status Measure(Nanos at, const SnapshotCommand& taken);

  const TrainingSpec spec_;
  const Dataset& test_;
  BatchLoader loader_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::optional<LocalSteps> local_;     // Of a local rate.
  std::vector<BlockPlacement> blocks_;  // By block.
  std::unique_ptr<JobShard> shard_;     // Hosts all of them.
  // Of those who compute: where the gradient comes from.
  absl::flat_hash_map<WorkerId, PulledBlocks> pulled_;
  std::vector<AccuracyPoint> accuracy_;
  int64_t refused_blocks_ = 0;
  absl::Status status_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_TRAINING_VIRTUAL_TRAINING_H_
