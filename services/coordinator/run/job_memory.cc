#include "services/coordinator/run/job_memory.h"

#include <algorithm>

#include "common/job/optimizer_spec.h"
#include "common/job/rule_memory.h"

namespace paceline {

JobMemory MemoryOf(const JobPlan& plan, uint32_t workers_max,
                   const RunCourse& course, const ParadigmSpec* other) {
  int64_t workers = 0;
  for (const WorkerId worker : course.members().Present()) {
    workers += course.members().Find(worker)->trainer() ? 1 : 0;
  }
  workers = std::max<int64_t>(workers, workers_max);
  const uint64_t slots = OptimizerSlotNames(plan.optimizer).size();
  const auto rule = [&](const ParadigmSpec& of) {
    return MemoryOf(of, workers).Weights(slots);
  };
  // What is in force was formatted, so that it can be read.
  const std::string next = course.next_paradigm();
  JobMemory memory{
      .state = 1 + slots,
      .rule = rule(other != nullptr ? *other : *ParseParadigm(next))};
  if (course.paradigm() != next) {
    memory.rule =
        std::max(memory.rule, rule(*ParseParadigm(course.paradigm())));
  }
  for (const ScheduledSwitch& later : plan.switches) {
    memory.rule = std::max(memory.rule, rule(later.paradigm));
  }
  return memory;
}

}  // namespace paceline
