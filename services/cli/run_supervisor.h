#ifndef PACELINE_SERVICES_CLI_RUN_SUPERVISOR_H_
#define PACELINE_SERVICES_CLI_RUN_SUPERVISOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/cli/cluster.h"
#include "services/cli/interrupt_watch.h"
#include "services/cli/progress_printer.h"
#include "services/cli/run_files.h"
#include "services/cli/watched_job.h"

namespace paceline {

// Has the coordinator at `address` do the job of `request`.
using StartJob = std::function<std::unique_ptr<JobFeed>(
    const std::string& address, const v1::CreateJobRequest& request)>;

// How long a run waits for its processes.
struct RunTimeouts {
  // From the start of the coordinator until it can be reached.
  absl::Duration listening = absl::Seconds(30);
  // From the start of the members until the first grant.
  absl::Duration started = absl::Minutes(3);
  // Between two events afterwards; the coordinator sends two a second.
  absl::Duration silence = absl::Minutes(1);
  // After a member failed, for the coordinator to say why.
  absl::Duration cause = absl::Seconds(10);
  // From SIGTERM to SIGKILL.
  absl::Duration grace = absl::Seconds(3);
};

// What a run needs from its surroundings; all outlive it.
struct RunSurroundings {
  const Clock& clock;
  InterruptWatch& interrupts;
  ProgressPrinter& printer;
  RunTimeouts timeouts;
  StartJob start_job;
};

// Sees one run through: starts the coordinator and, when that listens, the
// members and the job; shows what happens to it; notices who dies; ends
// everybody. One loop around poll(2), on the main thread.
//
// The death of a worker after the first grant is the coordinator's affair. That
// of the coordinator, of a server or of the evaluator ends the run.
class RunSupervisor {
 public:
  // `cluster` has not been started yet; all outlive this.
  RunSupervisor(Cluster& cluster, const v1::CreateJobRequest& request,
                const RunSurroundings& surroundings)
      : cluster_(cluster), request_(request), surroundings_(surroundings) {}

  // Runs the job and returns its result.
  // Nothing that was started runs any more when this returns.
  //   CANCELLED: a signal asked us to end (surroundings.interrupts says which).
  //   DEADLINE_EXCEEDED: a process did not do its part in time.
  //   INTERNAL: a process that the run cannot do without died.
  //   FAILED_PRECONDITION: a program cannot be executed.
  // Otherwise the cause of the job's failure.
  absl::StatusOr<Json> Run();

 private:
  // What the run waits for, and until when.
  struct Expectation {
    absl::Time until;
    std::string what;
  };

  absl::Status Supervise();
  absl::Status Step();
  // Returns once there may be something to do, at the latest at `until`.
  void AwaitInput(absl::Time until);
  absl::Status TakeLine(const std::string& line);
  absl::Status TakeNews();
  void Take(const v1::WatchJobResponse& event);
  absl::Status Judge(const Cluster::Ended& ended);
  void Expect(absl::Duration within, std::string what);

  // Waits for all processes to end, until `within` is over or a further signal
  // asks us to end; true if all have.
  bool AwaitAllEnded(absl::Duration within);
  void EndAll();

  Cluster& cluster_;
  const v1::CreateJobRequest& request_;
  const RunSurroundings& surroundings_;
  std::optional<LineReader> lines_;  // The coordinator's standard output.
  std::unique_ptr<JobFeed> feed_;    // Once it listens.
  Expectation expected_;
  bool granted_ = false;
  bool told_size_ = false;  // To whoever reads the terminal.
  std::optional<Json> result_;
  // A member's failure for which the coordinator may still know the cause.
  absl::Status suspected_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_SUPERVISOR_H_
