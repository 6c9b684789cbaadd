#include "services/cli/admin/output/watch_view.h"

#include "absl/strings/str_cat.h"
#include "services/cli/admin/output/checkpoint_view.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/short_age.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/one_line.h"
#include "services/cli/progress_view.h"

namespace paceline {

ProgressReport ToReport(const v1::JobProgress& progress) {
  ProgressReport report;
  report.seconds = progress.seconds();
  report.state = OneLine(progress.phase());
  report.samples = progress.samples();
  report.samples_total = progress.samples_total();
  report.samples_per_second = progress.samples_per_second();
  report.version = progress.version();
  if (progress.has_loss()) report.loss = progress.loss();
  if (progress.has_accuracy()) report.accuracy = progress.accuracy();
  for (const v1::WorkerProgress& worker : progress.workers()) {
    report.workers.push_back({.worker = OneLine(worker.worker()),
                              .state = OneLine(worker.state()),
                              .clock = worker.clock(),
                              .gap = worker.gap(),
                              .wait_seconds = worker.wait_seconds(),
                              .iterations = worker.iterations()});
  }
  return report;
}

EvaluatedReport ToReport(const v1::AccuracyPoint& point) {
  return {.seconds = point.seconds(),
          .version = point.version(),
          .samples = point.samples(),
          .accuracy = point.accuracy(),
          .loss = point.loss()};
}

DecisionReport ToReport(const v1::Decision& decision) {
  return {.seconds = decision.seconds(),
          .worker = decision.worker(),
          .text = decision.text()};
}

std::string StateLine(const v1::Job& job) {
  return OneLine(absl::StrCat("state ", StateText(job.state()),
                              job.state_reason().empty() ? "" : ": ",
                              job.state_reason()));
}

std::string CheckpointLine(const v1::Checkpoint& checkpoint) {
  std::string line = absl::StrCat("checkpoint ", LastPart(checkpoint.name()),
                                  " ", StateText(checkpoint.state()));
  if (checkpoint.state() == v1::Checkpoint::READY) {
    absl::StrAppend(&line, ": version ", checkpoint.version(), ", ",
                    checkpoint.samples(), " samples, ",
                    BytesText(checkpoint.bytes()), " in ",
                    ShortSeconds(checkpoint.write_seconds()));
  } else if (!checkpoint.state_reason().empty()) {
    absl::StrAppend(&line, ": ", checkpoint.state_reason());
  }
  return OneLine(line);
}

}  // namespace paceline
