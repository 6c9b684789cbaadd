#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_REPORT_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_REPORT_H_

#include <string>

namespace paceline {

// The report of a job (v1::JobReport.json) of which one run goes on where
// another has ended: both are documents, `before` that of all runs up to then,
// "" if there was none. `began` is where the later run begins, in seconds of
// training.
//
// What came later than `began` is of a course that the job does not go on with
// (it went back to a checkpoint), so its evaluations and switches are left out.
// What workers have done and sent is added up, all of it. Of their gaps and
// staleness the greatest is that of all runs; p50 and p99 are those of the last
// run in which they trained.
std::string MergeReports(const std::string& before, const std::string& after,
                         double began);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_REPORT_H_
