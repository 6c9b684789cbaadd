#include "services/worker/evaluator.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/log/log.h"
#include "common/status.h"

namespace paceline {

absl::Status Evaluator::Run(const v1::Evaluate& evaluate) {
  const absl::Status pulled = PullSnapshot(evaluate.snapshot());
  if (absl::IsUnavailable(pulled) && !parameters_.broken() &&
      control_.Interrupted()) {
    return absl::OkStatus();
  }
  // It will not come any more: asking again would go on for ever.
  if ((absl::IsResourceExhausted(pulled) || absl::IsNotFound(pulled)) &&
      !parameters_.broken()) {
    GiveUp(evaluate, pulled);
    return absl::OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(pulled);
  absl::StatusOr<v1::Evaluated> measured =
      computation_.Evaluate(evaluate.snapshot(), evaluate.samples(),
                            [this] { return !control_.ended(); });
  if (absl::IsCancelled(measured.status())) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(measured.status());
  v1::WorkerMessage message;
  *message.mutable_evaluated() = *std::move(measured);
  control_.Send(std::move(message));
  return absl::OkStatus();
}

void Evaluator::GiveUp(const v1::Evaluate& evaluate, const absl::Status& why) {
  LogWarning("a snapshot is not evaluated",
             {{"snapshot", evaluate.snapshot()}, {"reason", why.ToString()}});
  v1::WorkerMessage message;
  message.mutable_evaluated()->set_snapshot(evaluate.snapshot());
  message.mutable_evaluated()->set_code(static_cast<int>(why.code()));
  message.mutable_evaluated()->set_message(std::string(why.message()));
  control_.Send(std::move(message));
}

absl::Status Evaluator::PullSnapshot(int64_t snapshot) {
  absl::StatusOr<PullResult> pulled = parameters_.PullSnapshot(snapshot);
  // As for a trainer's pull: parked for a lease, then asked again.
  while (absl::IsUnavailable(pulled.status()) && !parameters_.broken() &&
         !control_.Interrupted()) {
    pulled = parameters_.PullSnapshot(snapshot);
  }
  PACELINE_RETURN_IF_ERROR(pulled.status());
  return computation_.ParametersChanged();
}

}  // namespace paceline
