#ifndef PACELINE_SERVICES_WORKER_EVALUATOR_H_
#define PACELINE_SERVICES_WORKER_EVALUATOR_H_

#include "absl/status/status.h"
#include "services/worker/computation.h"
#include "services/worker/control_stream.h"
#include "services/worker/parameter_client.h"

namespace paceline {

// Has snapshots measured on the test set. Thread-compatible.
class Evaluator {
 public:
  // All outlive the evaluator.
  Evaluator(Computation* computation, ParameterClient* parameters,
            ControlStream* control)
      : computation_(*computation),
        parameters_(*parameters),
        control_(*control) {}

  // One task, up to its answer, which may be that the snapshot could not be
  // had. A `stop` is obeyed after it: where jobs take turns with one evaluator,
  // a long task would otherwise be begun again and again. OK also if it was
  // interrupted: by a `stop` while the servers do not have the snapshot yet, or
  // by the end of the control stream.
  absl::Status Run(const v1::Evaluate& evaluate);

 private:
  absl::Status PullSnapshot(int64_t snapshot);
  void GiveUp(const v1::Evaluate& evaluate, const absl::Status& why);

  Computation& computation_;
  ParameterClient& parameters_;
  ControlStream& control_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_EVALUATOR_H_
