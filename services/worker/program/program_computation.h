#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_COMPUTATION_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_COMPUTATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/worker/computation.h"
#include "services/worker/program/program_arenas.h"
#include "services/worker/program/program_failures.h"
#include "services/worker/program/program_life.h"
#include "services/worker/program/program_messages.h"
#include "services/worker/program/sample_lots.h"
#include "services/worker/program/step_sums.h"

namespace paceline {

// A program that has attached, as it computes for one assignment. Weights are
// pulled into memory that it maps, and gradients are pushed from there.
//
// `broken`: UNAVAILABLE if the program died without a word, ABORTED if it ended
// by itself; otherwise what it did wrong or said, or ProgramFailures.
class ProgramComputation final : public Computation {
 public:
  // Tells the program of the job and waits until it has attached. `life` and
  // `failures` outlive the computation, and so does what `stopped` uses.
  // Errors: those of ProgramLife; INVALID_ARGUMENT for a model or an optimizer
  // that cannot be the job's; RESOURCE_EXHAUSTED without memory for the arenas.
  static absl::StatusOr<std::unique_ptr<ProgramComputation>> Attach(
      const v1::Assignment& assignment, const std::string& worker,
      bool evaluator, DType wire, ProgramLife* life, ProgramFailures* failures,
      const std::function<bool()>& stopped);

  v1::WorkerReady Ready() const override;
  TensorArrays Arrays() override;
  absl::Status Begin(bool initialize) override;
  absl::Status Order(const v1::Grant& grant, const StepOrder& order) override;
  bool OrderEarly(const v1::Grant& grant, const StepOrder& order) override;
  bool takes_parameters_singly() const override { return true; }
  void ParameterArrived(size_t tensor) override;
  absl::Status ParametersChanged() override;
  absl::StatusOr<std::optional<StepOutcome>> Compute(StepWatch& watch) override;
  bool extends() const override { return attach_.extends; }
  absl::Status Extend(const SampleRange& range) override;
  absl::Status Finish() override;
  void Drop() override;
  void DropReserved() override;
  absl::StatusOr<v1::Evaluated> Evaluate(
      int64_t snapshot, uint32_t samples,
      absl::FunctionRef<bool()> go_on) override;

 private:
  // The step in hand, from Order() on.
  struct Step {
    int64_t iteration = 0;
    uint32_t samples = 0;
    bool overlaps = false;
    bool refreshed = false;        // The program was told.
    std::vector<bool> ready = {};  // By tensor, once one is.
    size_t ready_left = 0;         // That are pushed.

    bool pushing() const { return !ready.empty(); }
  };

  ProgramComputation(const v1::Assignment& assignment, bool evaluator,
                     DType wire, ProgramLife* life, ProgramFailures* failures,
                     const std::function<bool()>& stopped);

  absl::Status AwaitAttach(const v1::Assignment& assignment,
                           const std::string& worker);
  // As `wire` is what was agreed on: the memory of the model.
  absl::Status MakeArenas();

  // To and from the program; their errors break the computation, but for those
  // of patience.
  absl::Status Send(absl::string_view frame,
                    absl::Span<const int> descriptors = {});
  absl::StatusOr<ProgramFrame> Receive(const ProgramPatience& patience);
  absl::Status Lost(const absl::Status& status);
  absl::Status Refuse(const absl::Status& wrong);
  absl::Status Unexpected(const ProgramFrame& frame);

  // How a frame goes to the program.
  using SendFrame = absl::FunctionRef<absl::Status(absl::string_view frame)>;

  // An iteration's first step.
  absl::Status BeginStep(const v1::Grant& grant, const StepOrder& order,
                         SendFrame send);
  // A step like `like`, on the samples of `range`.
  absl::Status SendStep(ProgramStep like, const SampleRange& range,
                        absl::Span<const SampleRange> reserved, SendFrame send);
  absl::Status SendLots(const SampleLots::Notice& notice, SendFrame send);
  // What the grant of a step that was foretold has reserved.
  absl::Status SendReserved();
  // What the program has not been told of, up to `end`.
  TensorRun RunUntil(size_t end) const;
  absl::Status SendWeights(size_t end);
  // The answer to the step that was dropped.
  absl::Status AwaitAbandoned();
  // What the coordinator says meanwhile. False: the step is over.
  absl::StatusOr<bool> LookAround(StepWatch& watch);
  absl::Status TakeReady(const ProgramFrame& frame, StepWatch& watch);
  absl::StatusOr<StepOutcome> OutcomeOf(const ProgramDone& done);
  // Adds the earlier steps of the same iteration.
  StepOutcome OfAllSteps(StepOutcome outcome);

  const v1::JobSpec job_;
  const uint64_t run_;
  const bool evaluator_;
  const DType wire_;
  ProgramLife& life_;
  ProgramFailures& failures_;
  const std::function<bool()> stopped_;

  ProgramAttach attach_;
  std::shared_ptr<ProgramArenas> arenas_;
  std::optional<SampleLots> lots_;  // Of a trainer with positions.

  std::string where_;  // For errors: "in step 812".
  std::optional<Step> step_;
  std::optional<int64_t> abandoned_;  // An iteration without its answer.

  // Of the iteration in hand, which may have several steps.
  ProgramStep order_;             // Its first step, without samples.
  std::optional<StepSums> sums_;  // Of its steps before the last.
  double loss_sum_ = 0;
  uint32_t last_samples_ = 0;  // That the last step computed.

  // Of the step's weights: by tensor, which are there, and how many the program
  // was told of, from the first one on.
  std::vector<bool> arrived_;
  size_t told_ = 0;
  bool pulled_ = false;  // Once: what is frozen is there for good.
  // What came of telling it, whoever did that.
  absl::Status telling_;
  std::optional<int64_t> ordered_early_;  // The iteration; Order() is to come.
  bool foretold_ = false;  // The step in hand, when it was ordered.
  // By its grant, and not told: others tell of weights until all are there.
  std::vector<SampleRange> reserved_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_COMPUTATION_H_
