#include "services/cli/run_supervisor.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/program_output.h"
#include "services/cli/run_files.h"

namespace paceline {
namespace {

// What a process complained about last: the last line of its log, without its
// wrapping, unless that only tells what went well.
std::string LastComplaint(const std::string& log_path) {
  const std::string line = LastLine(log_path);
  const Json entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!entry.is_object()) return line;
  const std::string level = TextField(entry, "level");
  if (level == "info" || level == "debug" || level == "trace") return "";
  return TextField(entry, "message");
}

// How the end of a member reads.
std::string Describe(const Cluster::Ended& ended) {
  const std::string complaint = LastComplaint(ended.log_path);
  return absl::StrCat(ended.name, " ended (", ended.cause.Describe(),
                      complaint.empty() ? "" : absl::StrCat(": ", complaint),
                      "); its log: ", ended.log_path);
}

}  // namespace

absl::StatusOr<Json> RunSupervisor::Run() {
  const absl::Status status = Supervise();
  if (absl::IsCancelled(status)) {
    surroundings_.printer.Note(
        "ending all processes; interrupt again to kill them at once");
  }
  EndAll();
  surroundings_.printer.Clear();
  if (!status.ok()) return status;
  return *std::move(result_);
}

absl::Status RunSupervisor::Supervise() {
  PACELINE_RETURN_IF_ERROR(cluster_.StartCoordinator());
  lines_.emplace(cluster_.report_fd());
  Expect(surroundings_.timeouts.listening, "the coordinator to listen");
  while (!result_.has_value()) PACELINE_RETURN_IF_ERROR(Step());
  return absl::OkStatus();
}

absl::Status RunSupervisor::Step() {
  AwaitInput(expected_.until);
  const InterruptWatch& interrupts = surroundings_.interrupts;
  if (interrupts.count() > 0) {
    return absl::CancelledError(
        absl::StrCat("interrupted (", strsignal(interrupts.first()), ")"));
  }
  // Ends are taken before news and judged after them, so that whatever a
  // process said before it ended is known when it is judged.
  const std::vector<Cluster::Ended> ends = cluster_.Poll();
  PACELINE_RETURN_IF_ERROR(TakeNews());
  if (result_.has_value()) return absl::OkStatus();
  for (const Cluster::Ended& ended : ends) {
    PACELINE_RETURN_IF_ERROR(Judge(ended));
  }
  if (surroundings_.clock.Now() < expected_.until) return absl::OkStatus();
  if (!suspected_.ok()) return suspected_;
  return absl::DeadlineExceededError(
      absl::StrCat("waited in vain for ", expected_.what));
}

void RunSupervisor::AwaitInput(absl::Time until) {
  std::vector<pollfd> inputs = {{surroundings_.interrupts.fd(), POLLIN, 0}};
  if (lines_.has_value() && !lines_->at_end()) {
    inputs.push_back({cluster_.report_fd(), POLLIN, 0});
  }
  if (feed_ != nullptr) inputs.push_back({feed_->fd(), POLLIN, 0});
  const absl::Duration left = until - surroundings_.clock.Now();
  const absl::Duration timeout =
      std::clamp(left, absl::ZeroDuration(), absl::Seconds(1));
  poll(inputs.data(), inputs.size(),
       static_cast<int>(absl::ToInt64Milliseconds(
           absl::Ceil(timeout, absl::Milliseconds(1)))));
  surroundings_.interrupts.Read();
}

absl::Status RunSupervisor::TakeLine(const std::string& line) {
  const std::optional<std::string> address = ListeningAddress(line);
  if (!address.has_value()) {
    surroundings_.printer.Note(absl::StrCat("the coordinator printed: ", line));
    return absl::OkStatus();
  }
  if (feed_ != nullptr) return absl::OkStatus();
  Expect(surroundings_.timeouts.started,
         "the members to load their data and start");
  feed_ = surroundings_.start_job(*address, request_);
  return cluster_.StartMembers(*address);
}

absl::Status RunSupervisor::TakeNews() {
  for (const std::string& line : lines_->Read()) {
    PACELINE_RETURN_IF_ERROR(TakeLine(line));
  }
  if (feed_ == nullptr) return absl::OkStatus();
  const JobFeed::News news = feed_->Read();
  for (const v1::WatchJobResponse& event : news.events) Take(event);
  if (!news.report.has_value()) return absl::OkStatus();
  if (!news.report->ok()) return news.report->status();
  result_ = **news.report;
  return absl::OkStatus();
}

void RunSupervisor::Take(const v1::WatchJobResponse& event) {
  // Any event shows that the coordinator lives.
  if (granted_ && suspected_.ok()) {
    Expect(surroundings_.timeouts.silence, "a sign of life of the coordinator");
  }
  ProgressPrinter& printer = surroundings_.printer;
  const v1::Job& job = event.job();
  const bool running =
      job.state() == v1::Job::RUNNING || job.state() == v1::Job::SUCCEEDED;
  // What is told of its progress may come first.
  granted_ = granted_ || running || event.progress().phase() == "training";
  if (running && !std::exchange(told_size_, true)) {
    printer.Note(absl::StrCat(job.progress().parameters(), " parameters, ",
                              job.progress().train_samples(),
                              " samples an epoch"));
  }
  if (event.has_progress()) {
    printer.Show(event.progress(), surroundings_.clock.Now());
  }
  // Refreshes and regroupings are too many for a terminal, and what happens to
  // the job itself is no news to who runs it; `paceline job logs` has them.
  const v1::Decision& decision = event.decision();
  if (event.has_decision() && decision.kind() != "refresh" &&
      decision.kind() != "regroup" && decision.kind() != "job") {
    v1::Decision shown = decision;
    shown.set_text(WithLastQuote(decision.text()));
    printer.Show(shown);
  }
}

absl::Status RunSupervisor::Judge(const Cluster::Ended& ended) {
  const absl::Status verdict = absl::InternalError(Describe(ended));
  if (ended.role == Cluster::Role::kCoordinator) return verdict;
  if (ended.role == Cluster::Role::kWorker && granted_) {
    surroundings_.printer.Note(verdict.message());
    return absl::OkStatus();
  }
  // A crash or a kill: there is no better cause to wait for.
  if (ended.cause.signal != 0) return verdict;
  // Members also end because the coordinator told them to; give it the time to
  // tell us why.
  if (suspected_.ok()) {
    suspected_ = verdict;
    Expect(ended.cause.clean() && granted_ ? surroundings_.timeouts.silence
                                           : surroundings_.timeouts.cause,
           "the coordinator's result");
  }
  return absl::OkStatus();
}

void RunSupervisor::Expect(absl::Duration within, std::string what) {
  expected_ = {surroundings_.clock.Now() + within, std::move(what)};
}

bool RunSupervisor::AwaitAllEnded(absl::Duration within) {
  const Clock& clock = surroundings_.clock;
  const absl::Time until = clock.Now() + within;
  const int interrupts = surroundings_.interrupts.count();
  while (true) {
    cluster_.Poll();
    if (cluster_.Running().empty()) return true;
    if (clock.Now() >= until) return false;
    if (surroundings_.interrupts.count() != interrupts) return false;
    AwaitInput(until);
    // A coordinator whose pipe is full could not end.
    if (lines_.has_value()) lines_->Read();
  }
}

void RunSupervisor::EndAll() {
  feed_.reset();
  cluster_.Signal(SIGTERM);
  if (AwaitAllEnded(surroundings_.timeouts.grace)) return;
  cluster_.Signal(SIGKILL);
  // Nothing can resist that for long.
  while (!AwaitAllEnded(absl::Seconds(10))) {
  }
}

}  // namespace paceline
