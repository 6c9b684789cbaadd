#include "services/coordinator/sync/core/put_off_actions.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline {
namespace {

const PushPlan& PlanOf(const Action& action) {
  const auto* const release = std::get_if<Release>(&action);
  return release != nullptr ? release->plan : std::get<PlanPush>(action).plan;
}

}  // namespace

WorkerId WorkerOf(const Action& action) {
  const auto* const release = std::get_if<Release>(&action);
  return release != nullptr ? release->worker
                            : std::get<PlanPush>(action).worker;
}

void PutOffActions::Cancel(WorkerId worker) {
  std::erase_if(actions_, [worker](const Action& action) {
    return WorkerOf(action) == worker;
  });
}

std::optional<Action> PutOffActions::TakeNext(const RoundLedger& rounds) {
  const auto next = std::ranges::find_if(actions_, [&](const Action& action) {
    return rounds.HasRoomFor(PlanOf(action).round);
  });
  if (next == actions_.end()) return std::nullopt;
  const Action action = *next;
  actions_.erase(next);
  return action;
}

std::deque<Action> PutOffActions::TakeAll() {
  return std::exchange(actions_, {});
}

}  // namespace paceline
