#ifndef PACELINE_SERVICES_WORKER_COMPUTATION_H_
#define PACELINE_SERVICES_WORKER_COMPUTATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/sample_range.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/parameter_client.h"

namespace paceline {

// One step, as a grant orders it.
struct StepOrder {
  SampleRange range;
  uint32_t micro_batch = 0;  // Samples computed at once, at most.
  // Gradients may leave while others are still computed.
  bool overlaps = false;
  // What becomes of the gradients is not known: they are wanted with Finish().
  bool asks = false;
  // A slower device is imitated: what is computed early sleeps then, so it lets
  // the others on its cores go first. Their pushes would else wait for a tick
  // of the kernel's.
  bool gives_way = false;
  // Of OrderEarly(): there is no grant yet, only what it will probably be. What
  // that reserves comes with Order(), and weights may come before.
  bool foretold = false;
};

// What came of a step, or of the part of it that was computed.
struct StepOutcome {
  double loss = 0;  // Mean.
  uint32_t samples = 0;
  bool finite = true;
  bool pushing = false;    // StepWatch has been told of every gradient.
  absl::Duration loading;  // Of the computation: it waited for data.
  // What whoever computes says that the rest took. Zero: it says nothing.
  absl::Duration computing;
};

// Who wants to know how a step comes on. Called in the thread of Compute().
class StepWatch {
 public:
  virtual ~StepWatch() = default;

  // Before the first gradient is ready. From here on the step is computed to
  // its end, whatever Computed() and Over() say.
  virtual void PushBegins() = 0;
  // Those of the tensors [first, end) are final, and stay as they are until the
  // next step.
  virtual void GradientsReady(size_t first, size_t end) = 0;
  // So many samples are computed since Compute() began; of the time since then
  // `loading` was spent on waiting for data. False: the step is over.
  virtual bool Computed(uint32_t samples, absl::Duration loading) = 0;
  // The step is to end with the micro-batch in hand. Not before Computed() or
  // Over() has looked.
  virtual bool refresh() const = 0;
  // Nothing more is to be done for the step. Looks first.
  virtual bool Over() = 0;
  // Nobody will ask for what becomes of it any more, so that it need not be
  // computed to its end even though its push has begun.
  virtual bool Abandoned() = 0;
};

// A model with its data, as a trainer and an evaluator need it: who computes,
// and what, is up to the implementation. Thread-compatible.
class Computation {
 public:
  virtual ~Computation() = default;

  // What `ready` says of it.
  virtual v1::WorkerReady Ready() const = 0;

  // The model's arrays, for the parameter client.
  virtual TensorArrays Arrays() = 0;

  // Another assignment of the same kind begins. With `initialize` the starting
  // weights lie in the arrays when this returns.
  virtual absl::Status Begin(bool initialize) = 0;

  // Steps: Order(), then the weights come into the arrays, then Compute() or
  // Drop(). INVALID_ARGUMENT if the samples do not lie in the data.
  virtual absl::Status Order(const v1::Grant& grant,
                             const StepOrder& order) = 0;
  // Order() is about to be called with the same. If the grant is only foretold,
  // Drop() may be called in its place. Called by another thread, while the
  // computation's own waits for nothing else: what can be done without waiting
  // may be done here, so that the own one need not wake up for it. False:
  // nothing was done, and no weights may come before Order().
  virtual bool OrderEarly(const v1::Grant& /*grant*/,
                          const StepOrder& /*order*/) {
    return false;
  }
  // Whether ParameterArrived() is of use.
  virtual bool takes_parameters_singly() const = 0;
  // A tensor's weights are there, while others are not. Called by the threads
  // that hear of them, one at a time, while the computation's own thread waits
  // for the rest: it must not wait for long.
  virtual void ParameterArrived(size_t tensor) = 0;
  // All of them are.
  virtual absl::Status ParametersChanged() = 0;
  // Nothing if the step was over before.
  virtual absl::StatusOr<std::optional<StepOutcome>> Compute(
      StepWatch& watch) = 0;
  // Whether a step can be extended, as WorkerReady says.
  virtual bool extends() const { return false; }
  // The next Compute() goes on with these samples, from the same weights and
  // into the same gradients; its outcome is that of the whole step. After one
  // that has computed all of its samples.  REQUIRES: extends(),
  // StepOrder::asks.
  virtual absl::Status Extend(const SampleRange& /*range*/) {
    return absl::UnimplementedError("a step is not extended here");
  }
  // The gradients of a step that asks become what is pushed.
  virtual absl::Status Finish() { return absl::OkStatus(); }
  // The step comes to nothing. May be called without any.
  virtual void Drop() = 0;

  // The samples that a grant has reserved are withdrawn.
  virtual void DropReserved() {}

  // The figures of an evaluation on the first `samples` of the test set (0:
  // all) with the weights that are in the arrays. `go_on` is asked now and
  // then: CANCELLED once it says no.
  virtual absl::StatusOr<v1::Evaluated> Evaluate(
      int64_t snapshot, uint32_t samples, absl::FunctionRef<bool()> go_on) = 0;

  // Why it computes no more; OK while it does.
  const absl::Status& broken() const { return broken_; }

 protected:
  // Keeps `status` if it is the first error; returns it.
  absl::Status Break(const absl::Status& status) {
    broken_.Update(status);
    return status;
  }

 private:
  absl::Status broken_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_COMPUTATION_H_
