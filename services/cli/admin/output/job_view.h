#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/output/table.h"

namespace paceline {

// How jobs look to people. Pure.

struct JobTableOptions {
  bool wide = false;
  bool namespaces = false;  // A column for them.
};

Table JobTable(const std::vector<const v1::Job*>& jobs,
               const JobTableOptions& options, absl::Time now);

// Everything about one job, with its latest decisions (oldest first) and
// checkpoints.
std::string DescribeJob(const v1::Job& job,
                        const std::vector<v1::Decision>& decisions,
                        const std::vector<v1::Checkpoint>& checkpoints,
                        absl::Time now);

// The paradigm that it runs under, or begins with.
std::string ParadigmText(const v1::Job& job);

// ParadigmText() cut to fit a column: "cgp:..." where it is long.
std::string ShortParadigm(const v1::Job& job);

// How many workers it has now; what is known of a job that does not run is of
// its last run.
int WorkersOf(const v1::Job& job);

// It has ended: nothing happens to it by itself any more.
bool IsTerminal(v1::Job::State state);

// "43%"; empty while nothing is known.
std::string ShareText(const v1::JobProgress& progress);

// "2026-11-21T10:00:00Z  12.0 s  w2  worker-lost  stuck (3 more like it)".
std::string DecisionText(const v1::Decision& decision);

// What each evaluation has measured, a column for each metric of any.
Table AccuracyTable(const std::vector<const v1::AccuracyPoint*>& points,
                    bool wide);

Table CheckpointTable(const std::vector<const v1::Checkpoint*>& checkpoints,
                      bool wide, absl::Time now);

// The events of a watch that ProgressPrinter does not know, as lines. Pure.

// "state RUNNING", "state FAILED: data not found".
std::string StateLine(const v1::Job& job);

// What became of a job that has ended; `weights` is what WeightsText() says:
//   mnist SUCCEEDED with accuracy 0.9812, training loss 0.0612, 300000 samples
//   in 24.1 s of training; weights in /ckpt/final-1 (checkpoint final-1)
std::string SummaryLine(const v1::Job& job, const std::string& weights);

// "weights in /ckpt/c1 (checkpoint c1)", of the newest that is ready, or that
// there are none. The newest are first.
std::string WeightsText(const v1::ListCheckpointsResponse& saved);

// "checkpoint c1 READY: version 180, 5760 samples, 1.2 MiB in 0.42 s".
std::string CheckpointLine(const v1::Checkpoint& checkpoint);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_JOB_VIEW_H_
