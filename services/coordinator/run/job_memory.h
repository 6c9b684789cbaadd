#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOB_MEMORY_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOB_MEMORY_H_

#include <cstdint>

#include "common/job/job_plan.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

// What a server needs for a part of a job's model. Both are counted in the
// part's weights in fp32: so many times these bytes.
struct JobMemory {
  uint64_t state = 1;  // The weights themselves, and the optimizer's state.
  uint64_t rule = 0;   // What the paradigm makes it hold at most beside them.
};

// Of a run under its paradigm, or under `other` if there is one, and under
// those that `plan` switches to later. It has as many workers as it may, or as
// train now; `workers_max` is 0 if it may have any number.
JobMemory MemoryOf(const JobPlan& plan, uint32_t workers_max,
                   const RunCourse& course,
                   const ParadigmSpec* other = nullptr);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOB_MEMORY_H_
