#include "services/coordinator/run/course/training_view.h"

namespace paceline {

TrainingView ViewOf(const SyncCore* core) {
  if (core == nullptr) return {};
  TrainingView view{core->version(),           core->samples_counted(),
                    core->samples_discarded(), core->samples_total(),
                    core->policy().View(),     {}};
  for (const WorkerId worker : core->Members()) {
    view.workers.push_back({worker, core->ClockOf(worker),
                            core->ScoreOf(worker), core->IsStraggler(worker),
                            core->BatchOf(worker), core->LagOf(worker)});
  }
  return view;
}

}  // namespace paceline
