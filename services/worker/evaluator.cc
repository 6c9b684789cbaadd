#include "services/worker/evaluator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/status.h"

namespace paceline {

absl::Status Evaluator::Run(const v1::Evaluate& evaluate) {
  PACELINE_RETURN_IF_ERROR(PullSnapshot(evaluate.snapshot()));
  const Dataset& data = task_.data();
  const uint32_t wanted = evaluate.samples();
  const uint32_t all =
      wanted == 0 ? data.size() : std::min(wanted, data.size());
  const uint32_t step = task_.micro_batch();
  images_.resize(size_t{step} * data.shape().size());
  labels_.resize(step);
  std::vector<uint32_t> indices(step);
  BatchLoss sum;
  for (uint32_t begin = 0; begin < all; begin += step) {
    if (control_.Interrupted()) return absl::OkStatus();
    indices.resize(std::min(step, all - begin));
    std::iota(indices.begin(), indices.end(), begin);
    data.Gather(indices, images_.data(), labels_.data());
    PACELINE_ASSIGN_OR_RETURN(
        const BatchLoss part,
        task_.model().Evaluate(images_.data(), labels_.data(),
                               static_cast<int>(indices.size())));
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
  }
  v1::WorkerMessage message;
  message.mutable_evaluated()->set_snapshot(evaluate.snapshot());
  message.mutable_evaluated()->set_accuracy(static_cast<double>(sum.correct) /
                                            all);
  message.mutable_evaluated()->set_loss(sum.loss_sum / all);
  control_.Send(std::move(message));
  return absl::OkStatus();
}

absl::Status Evaluator::PullSnapshot(int64_t snapshot) {
  absl::StatusOr<uint64_t> bytes = parameters_.PullSnapshot(snapshot);
  // As for a trainer's pull: parked for a lease, then asked again.
  while (absl::IsUnavailable(bytes.status()) && !parameters_.broken() &&
         !control_.Interrupted()) {
    bytes = parameters_.PullSnapshot(snapshot);
  }
  PACELINE_RETURN_IF_ERROR(bytes.status());
  return task_.model().ParametersChanged();
}

}  // namespace paceline
