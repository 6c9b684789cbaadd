#include "services/coordinator/planner/simulated_pilot.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "common/micro_batches.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

void SimulatedPilot::Joined(Nanos /*at*/, WorkerId worker, size_t index) {
  workers_[worker] = {.index = index};
}

void SimulatedPilot::Decided(Nanos at, const RunOutput& output) {
  if (const auto* const grant = std::get_if<Grant>(&output)) {
    const auto of = workers_.find(grant->worker);
    if (of == workers_.end()) return;  // It is dead, and nobody knows.
    paces_.Granted(
        grant->worker, ToSeconds(at), grant->range.size(),
        MicroBatchLimit(spec_.run.batch_size, spec_.micro_batch,
                        spec_.workers[of->second.index].wishes.micro_batch,
                        grant->micro_batch));
  } else if (const auto* const more = std::get_if<ExtendCommand>(&output)) {
    paces_.Extended(more->worker, more->range.size());
  }
}

void SimulatedPilot::Computed(Nanos /*at*/, const Grant& grant,
                              uint32_t samples) {
  workers_.at(grant.worker).computed = samples;
}

void SimulatedPilot::IterationOver(Nanos at, const Grant& grant,
                                   const IterationTimes& times) {
  const absl::Duration compute = absl::Nanoseconds(times.ended - times.began);
  const uint32_t samples =
      std::exchange(workers_.at(grant.worker).computed, 0u);
  if (samples == 0) {
    return paces_.BrokenOff(grant.worker, ToSeconds(at));
  }
  paces_.Reported(grant.worker,
                  {.compute = compute,
                   .push = absl::Nanoseconds(times.reported - times.planned),
                   .pull = absl::Nanoseconds(times.began - times.granted),
                   .samples = samples,
                   .discarded = grant.plan.kind == PushPlan::Kind::kDiscard,
                   .at = ToSeconds(at)});
}

void SimulatedPilot::Gone(Nanos /*at*/, WorkerId worker) {
  workers_.erase(worker);
  paces_.Left(worker);
}

ClusterPilot::Answer SimulatedPilot::Look(Nanos now, const RunCourse& course) {
  const SyncCore& core = *course.core();
  AutoPilot::Seen seen;
  seen.seconds = ToSeconds(now);
  if (spec_.samples_end && core.samples_counted() > 0) {
    seen.seconds_left =
        seen.seconds *
        static_cast<double>(core.samples_total() - core.samples_counted()) /
        static_cast<double>(core.samples_counted());
  }
  seen.present = *ParseParadigm(course.next_paradigm());
  seen.switching = core.switching();
  seen.job = {.batch_size = spec_.run.batch_size,
              .micro_batch = spec_.micro_batch,
              .batching = course.settings().batching};
  if (spec_.run.ada_scale) {
    seen.job.ada_scale = true;
    seen.job.noise = course.noise_of_batch();
  }
  for (const WorkerId id : core.Members()) {
    const auto of = workers_.find(id);
    if (of == workers_.end()) continue;
    const WorkerSpec& worker = spec_.workers[of->second.index];
    seen.workers.push_back({worker.name, worker.wishes, paces_.Of(id)});
  }
  const AutoPilot::Look look = pilot_.LookAt(std::move(seen), /*acts=*/true);
  return {
      .to = look.to,
      .reason = look.why,
      .again_after = std::max<Nanos>(1, std::llround(look.again_after * 1e9))};
}

}  // namespace paceline
