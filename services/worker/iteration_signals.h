#ifndef PACELINE_SERVICES_WORKER_ITERATION_SIGNALS_H_
#define PACELINE_SERVICES_WORKER_ITERATION_SIGNALS_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/control_stream.h"

namespace paceline {

// What the coordinator says of the iteration in hand while it goes on: takes
// those commands out of the control stream and leaves every other one, which
// ends the iteration. Commands about earlier iterations come too late and are
// dropped. Thread-compatible.
class IterationSignals {
 public:
  // `control` outlives this.
  IterationSignals(ControlStream* control, int64_t iteration)
      : control_(*control), iteration_(iteration) {}

  // Each is true, or there, from when Over() has seen it.
  bool refresh() const { return refresh_; }
  bool abandon() const { return abandon_; }
  // What is reserved is withdrawn; said once.
  bool TakeDropReserved() { return std::exchange(drop_reserved_, false); }
  const std::optional<v1::PushPlan>& plan() const { return plan_; }
  // The samples by which the iteration is extended; gone with that.
  std::optional<v1::SampleRange> TakeExtension() {
    return std::exchange(extension_, std::nullopt);
  }

  // Nothing more is to be done for this iteration: it is abandoned, or another
  // command or the stream's end waits to be taken. Looks first.
  bool Over();

  // Sleeps until `until`. False if the iteration was over before.
  bool SleepUntil(absl::Time until);

  // Waits for the plan, or for an extension. False if the iteration was over
  // before or `patience` has passed, without time in which this process stood
  // still.
  bool AwaitAnswer(absl::Duration patience);

 private:
  // Takes the signals that have come; false if there were none.
  bool Look();

  ControlStream& control_;
  const int64_t iteration_;
  bool refresh_ = false;
  bool abandon_ = false;
  bool drop_reserved_ = false;
  std::optional<v1::PushPlan> plan_;
  std::optional<v1::SampleRange> extension_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_ITERATION_SIGNALS_H_
