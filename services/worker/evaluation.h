#ifndef PACELINE_SERVICES_WORKER_EVALUATION_H_
#define PACELINE_SERVICES_WORKER_EVALUATION_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"

namespace paceline {

// Images evaluated at once: enough to fill the matrix products, few enough for
// a cache.
inline constexpr int kEvaluationBatch = 100;

// The mean loss, in nats, and the share of hits.
struct Evaluation {
  double accuracy = 0;
  double loss = 0;
};

// Evaluates `model`, whose batch_max() is at least kEvaluationBatch, on the
// first `samples` of `data`; 0: on all. `go_on` is asked between two batches:
// CANCELLED once it says no.
absl::StatusOr<Evaluation> Evaluate(Model& model, const Dataset& data,
                                    uint32_t samples,
                                    absl::FunctionRef<bool()> go_on);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_EVALUATION_H_
