#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/state_color.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/progress_printer.h"

namespace paceline {
namespace {

struct WatchFlags : CommonFlags {
  std::string name;
};

// Shows the events of one job to people, on a terminal and elsewhere.
class WatchScreen {
 public:
  WatchScreen(const std::string& job, const Console& console)
      : label_(absl::StrCat("[", LastPart(job), "] ")),
        console_(console),
        printer_(console.progress) {
    printer_.StartRun(std::string(LastPart(job)), 0, /*details=*/true);
  }

  void Show(const v1::WatchJobResponse& event) {
    switch (event.event_case()) {
      case v1::WatchJobResponse::kJob:
        job_ = event.job();
        return printer_.Note(StateLine(event.job()));
      case v1::WatchJobResponse::kProgress:
        return ShowProgress(event.progress());
      case v1::WatchJobResponse::kAccuracy:
        // A line that stays: this is what somebody watches for.
        return printer_.Note(
            absl::StrCat(label_, EvaluatedLine(event.accuracy())));
      case v1::WatchJobResponse::kDecision:
        return printer_.Show(event.decision());
      case v1::WatchJobResponse::kCheckpoint:
        return printer_.Note(CheckpointLine(event.checkpoint()));
      case v1::WatchJobResponse::EVENT_NOT_SET:
        return;  // A newer server sends what this program does not know.
    }
  }

  ProgressPrinter& printer() { return printer_; }

  // The job as it was seen last, if it was; its name is that of the job.
  const std::optional<v1::Job>& job() const { return job_; }

 private:
  void ShowProgress(const v1::JobProgress& progress) {
    if (job_.has_value()) *job_->mutable_progress() = progress;
    // Later ones are told as switches.
    if (!paradigm_told_ && !progress.paradigm().empty()) {
      paradigm_told_ = true;
      printer_.Note(absl::StrCat(label_, "paradigm ", progress.paradigm()));
    }
    printer_.Show(progress, console_.now());
  }

  const std::string label_;
  const Console& console_;
  ProgressPrinter printer_;
  std::optional<v1::Job> job_;
  bool paradigm_told_ = false;
};

// What became of the job, in one line.
absl::Status WriteSummary(Session& session, const v1::Job& job) {
  v1::ListCheckpointsRequest request;
  request.set_parent(job.name());
  const absl::StatusOr<v1::ListCheckpointsResponse> saved =
      session.Call(&JobsApi::ListCheckpoints, request);
  std::string weights;
  if (saved.ok()) {
    weights = WeightsText(*saved);
  } else {
    weights = absl::StrCat("its checkpoints are not known: ",
                           saved.status().message());
  }
  const std::string line = SummaryLine(job, weights);
  return session.Write(absl::StrCat(
      session.console().progress.color ? PaintStates(line) : line, "\n"));
}

absl::Status WatchDocuments(Session& session, JobWatcher& watcher) {
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(const auto event,
                              watcher.Next(absl::InfiniteFuture()));
    if (!event.has_value()) return absl::OkStatus();
    PACELINE_RETURN_IF_ERROR(
        session.Print({.messages = {&*event}, .table = nullptr}));
  }
}

absl::Status WatchTyped(Session& session, const WatchFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            session.JobName(flags.name));
  return WatchJob(session, name);
}

}  // namespace

absl::Status WatchJob(Session& session, const std::string& name) {
  if (session.format() == OutputFormat::kName) {
    return absl::InvalidArgumentError(
        "-o name: events have no names; use table, json or yaml");
  }
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  JobWatcher watcher(client, name);
  if (!session.tabular()) return WatchDocuments(session, watcher);
  WatchScreen screen(name, session.console());
  for (;;) {
    const auto event = watcher.Next(absl::InfiniteFuture());
    if (!event.ok() || !event->has_value()) {
      screen.printer().Clear();
      PACELINE_RETURN_IF_ERROR(event.status());
      break;
    }
    screen.Show(**event);
    if (screen.printer().broken()) {
      return OutputError(screen.printer().write_error());
    }
  }
  if (!screen.job().has_value()) return absl::OkStatus();
  return WriteSummary(session, *screen.job());
}

void AddJobWatchCommand(CLI::App& job, ChosenCommand& chosen) {
  const auto watch = AddCommand<WatchFlags>(
      job, "watch", "Follow a job until it has ended", chosen, &WatchTyped);
  AddJobPositional(*watch.app, watch.flags->name);
}

}  // namespace paceline
