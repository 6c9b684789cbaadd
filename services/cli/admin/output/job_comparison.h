#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_COMPARISON_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/job/metric_target.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/json_fields.h"

namespace paceline {

// What tells jobs apart that trained the same thing. Pure.
struct ComparedJob {
  std::string name;   // In full.
  std::string label;  // As somebody has typed it.
  std::string state;
  std::vector<std::string> paradigms;  // One after the other, in full.
  std::string batching;
  int64_t samples = 0;
  double seconds = 0;  // Of training, without pauses.
  // Of the metric that is compared, where it was measured.
  std::optional<double> last;
  std::optional<double> best;
  std::optional<double> seconds_to_target;
};

// Jobs compared by one metric.
struct JobComparison {
  std::string metric;
  bool more_is_better = true;
  std::optional<MetricTarget> target;
  std::vector<ComparedJob> jobs;  // As they were given.
};

// A job and its v1::JobReport.json, parsed; an empty object if it has not
// trained.
struct ReportedJob {
  std::string label;
  v1::Job job;
  Json report;
};

// Compares by the target's metric; without a target, by the accuracy, or by the
// loss where no job has an accuracy.
JobComparison CompareJobs(const std::vector<ReportedJob>& jobs,
                          const std::optional<MetricTarget>& target);

// For people: paradigms by their names alone unless `wide`.
Table ComparisonTable(const JobComparison& comparison, bool wide);

// For programs: numbers with all their digits.
Table ComparisonForPrograms(const JobComparison& comparison);

Json ComparisonDocument(const JobComparison& comparison);

// One sentence: who was first at the target and by how much, or who is best.
std::string ComparisonSentence(const JobComparison& comparison);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_COMPARISON_H_
