#ifndef PACELINE_SERVICES_COORDINATOR_RUN_PROGRESS_EXPORT_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_PROGRESS_EXPORT_H_

#include <map>

#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/course/training_view.h"
#include "services/coordinator/run/linked_member.h"

namespace paceline {

// Sets the job's gauges: how far it is, and each worker's part in it.
void ExportProgress(const v1::JobProgress& progress, const TrainingView& view,
                    const std::map<WorkerId, LinkedMember>& members,
                    JobMetrics& metrics);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_PROGRESS_EXPORT_H_
