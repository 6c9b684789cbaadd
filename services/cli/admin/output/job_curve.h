#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_CURVE_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_CURVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/output/tensorboard_file.h"
#include "services/cli/admin/output/training_clock.h"
#include "services/cli/json_fields.h"

namespace paceline {

// What was measured on all runs of a job, over pauses and resumes. Pure.
struct JobCurve {
  std::string job;                        // "namespaces/team/jobs/mnist".
  std::vector<v1::AccuracyPoint> points;  // Oldest first.
  std::vector<absl::Time> times;          // Of each point.
  Json report;                            // v1::JobReport.json, parsed.
};

// The evaluations in a parsed v1::JobReport.json; what is no number is not
// measured.
std::vector<v1::AccuracyPoint> PointsOf(const Json& report);

// INTERNAL if the report is no JSON object.
absl::StatusOr<JobCurve> ReadJobCurve(const v1::Job& job,
                                      const v1::JobReport& report,
                                      const TrainingClock& clock);

// Evaluations, switches and workers as tables, one below the other.
std::string CurveText(const JobCurve& curve, bool wide, bool headers);

// The same as a document: {"job", "evaluations", "switches", "workers"}, with
// the report's names and times in RFC 3339.
Json CurveDocument(const JobCurve& curve);

// Evaluations for other programs, numbers with all their digits: the columns
// "time" (where `times` are given), "seconds", "samples", "version",
// "accuracy", "loss", and one for every other metric of any of them.
Table PointsForPrograms(const std::vector<const v1::AccuracyPoint*>& points,
                        const std::vector<absl::Time>& times = {});

// Accuracy, loss and every metric over the samples.
std::vector<ScalarStep> CurveScalars(const JobCurve& curve);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_CURVE_H_
