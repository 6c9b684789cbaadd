#include "services/worker/iteration_signals.h"

#include <algorithm>

#include "common/clock.h"

namespace paceline {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);

bool IsSignal(const v1::WorkerCommand& command) {
  return command.has_refresh() || command.has_abandon() ||
         command.has_plan_push() || command.has_extend() ||
         command.has_drop_reserved();
}

}  // namespace

bool IterationSignals::Look() {
  bool took = false;
  while (const auto command = control_.TakeIf(IsSignal)) {
    took = true;
    if (command->has_refresh()) {
      refresh_ = refresh_ || command->refresh().iteration() == iteration_;
    } else if (command->has_abandon()) {
      abandon_ = abandon_ || command->abandon().iteration() == iteration_;
    } else if (command->has_drop_reserved()) {
      drop_reserved_ = true;
    } else if (command->has_extend()) {
      if (command->extend().iteration() == iteration_) {
        extension_ = command->extend().range();
      }
    } else if (command->plan_push().iteration() == iteration_) {
      plan_ = command->plan_push().plan();
    }
  }
  return took;
}

bool IterationSignals::Over() {
  while (true) {
    Look();
    if (abandon_) return true;
    if (!control_.Interrupted()) return false;
    // Something waits: a signal that has come since, or what ends this.
    if (!Look()) return true;
  }
}

bool IterationSignals::SleepUntil(absl::Time until) {
  while (!Over()) {
    if (control_.SleepUntil(until)) return true;
  }
  return false;
}

bool IterationSignals::AwaitAnswer(absl::Duration patience) {
  const auto answered = [this] {
    return plan_.has_value() || extension_.has_value();
  };
  while (!Over() && !answered()) {
    const absl::Time began = Clock::Real().Now();
    const absl::Duration look = std::min(patience, kLook);
    if (!control_.SleepUntil(began + look)) continue;
    patience -= look;
    if (patience <= absl::ZeroDuration()) return false;
  }
  return answered() && !abandon_;
}

}  // namespace paceline
