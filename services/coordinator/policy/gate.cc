#include "services/coordinator/policy/gate.h"

namespace paceline {

void Gate::Leave(WorkerId worker) {
  held_.erase({clocks_.Of(worker), worker});
  clocks_.Leave(worker);
}

void Gate::SetIdle(WorkerId worker) {
  held_.erase({clocks_.Of(worker), worker});
  clocks_.SetIdle(worker);
}

std::optional<WorkerId> Gate::TakeCaughtUp() {
  if (held_.empty()) return std::nullopt;
  const auto [clock, worker] = *held_.begin();
  if (clock - clocks_.Min() > bound_) return std::nullopt;
  held_.erase(held_.begin());
  return worker;
}

}  // namespace paceline
