#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/flag_values.h"

namespace paceline {
namespace {

// Commands that follow a job to a point: wait, logs.

struct WaitFlags : CommonFlags {
  std::vector<std::string> names;
  std::string condition;
  std::string timeout = "0";
};

struct LogsFlags : CommonFlags {
  std::string name;
  bool follow = false;
};

// What `wait` waits for.
struct Condition {
  bool deleted = false;
  v1::Job::State state = v1::Job::STATE_UNSPECIFIED;
};

absl::StatusOr<Condition> ParseCondition(absl::string_view text) {
  if (text == "delete") return Condition{.deleted = true};
  absl::string_view name = text;
  Condition condition;
  if (absl::ConsumePrefix(&name, "state=") &&
      v1::Job::State_Parse(absl::AsciiStrToUpper(name), &condition.state) &&
      condition.state != v1::Job::STATE_UNSPECIFIED) {
    return condition;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--for \"", text,
                   "\": must be delete or state=STATE, with one of PENDING, "
                   "STARTING, RUNNING, PAUSING, PAUSED, SAVING, CANCELLING, "
                   "SUCCEEDED, FAILED, CANCELLED"));
}

absl::Status EndedOtherwise(absl::string_view subject, const v1::Job& job) {
  return absl::UnknownError(
      absl::StrCat(subject, " has ended as ", StateText(job.state()),
                   job.state_reason().empty() ? "" : ": ", job.state_reason()));
}

// The time is over. The job may be there all the same: those before it may have
// used the time up.
absl::Status JudgeTooLate(Session& session, const std::string& name,
                          const Condition& condition) {
  const std::string subject = absl::StrCat("job/", LastPart(name));
  v1::GetJobRequest request;
  request.set_name(name);
  const absl::StatusOr<v1::Job> job = session.Call(&JobsApi::GetJob, request);
  if (condition.deleted && absl::IsNotFound(job.status())) {
    return session.Write(absl::StrCat(subject, " deleted\n"));
  }
  if (!job.ok()) return job.status();
  if (!condition.deleted && job->state() == condition.state) {
    return session.PrintChanged(*job, absl::StrCat(subject, " condition met"));
  }
  if (!condition.deleted && IsTerminal(job->state())) {
    return EndedOtherwise(subject, *job);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(subject, ": not in time, it is ", StateText(job->state())));
}

absl::Status WaitFor(Session& session, const std::string& typed,
                     const Condition& condition, absl::Time until) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name, session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  const std::string subject = absl::StrCat("job/", LastPart(name));
  JobWatcher watcher(client, name);
  v1::Job job;
  for (;;) {
    const auto event = watcher.Next(until);
    if (absl::IsDeadlineExceeded(event.status())) {
      return JudgeTooLate(session, name, condition);
    }
    if (condition.deleted && absl::IsNotFound(event.status())) {
      return session.Write(absl::StrCat(subject, " deleted\n"));
    }
    if (!event.ok()) return event.status();
    if (event->has_value()) {
      if (!(*event)->has_job()) continue;
      job = (*event)->job();
      if (!condition.deleted && job.state() == condition.state) {
        return session.PrintChanged(job,
                                    absl::StrCat(subject, " condition met"));
      }
      continue;
    }
    // It has ended. Its deletion can only be asked after.
    if (!condition.deleted) return EndedOtherwise(subject, job);
    if (absl::Now() >= until) continue;
    PACELINE_RETURN_IF_ERROR(client->Pause(absl::Milliseconds(500)));
  }
}

ExitCode WaitForJobs(Session& session, const WaitFlags& flags) {
  const absl::StatusOr<Condition> condition = ParseCondition(flags.condition);
  if (!condition.ok()) return session.End(condition.status());
  const absl::StatusOr<int64_t> nanos =
      ParseNanos("--timeout", flags.timeout, 0, INT64_MAX);
  if (!nanos.ok()) return session.End(nanos.status());
  const absl::Time until = *nanos == 0
                               ? absl::InfiniteFuture()
                               : absl::Now() + absl::Nanoseconds(*nanos);
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return WaitFor(session, typed, *condition, until);
  });
}

// Writes what comes after `last` and moves it on.
absl::Status WriteDecision(Session& session, const v1::Decision& decision,
                           int64_t* last) {
  if (decision.sequence() <= *last) return absl::OkStatus();
  *last = decision.sequence();
  if (session.tabular()) {
    return session.Write(absl::StrCat(DecisionText(decision), "\n"));
  }
  return session.Print({.messages = {&decision}, .table = nullptr});
}

absl::Status WriteRecorded(Session& session, const std::string& job,
                           int64_t* last) {
  v1::ListDecisionsRequest request;
  request.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(const v1::ListDecisionsResponse recorded,
                            session.List(&JobsApi::ListDecisions, request));
  for (const v1::Decision& decision : recorded.decisions()) {
    PACELINE_RETURN_IF_ERROR(WriteDecision(session, decision, last));
  }
  return absl::OkStatus();
}

// Whether the stream may have left decisions out before `event`: their numbers
// say so, or it begins anew, which it does with the job.
bool MayFollowALoss(const v1::WatchJobResponse& event, int64_t last) {
  return event.has_job() || event.decision().sequence() > last + 1;
}

absl::Status JobLogs(Session& session, const LogsFlags& flags) {
  if (session.format() == OutputFormat::kName) {
    return absl::InvalidArgumentError(
        "-o name: decisions have no names; use table, json or yaml");
  }
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            session.JobName(flags.name));
  int64_t last = 0;
  if (!flags.follow) return WriteRecorded(session, name, &last);
  // The stream first, the record when it stands: nothing falls between them.
  // Whatever comes twice is known by its number.
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  JobWatcher watcher(client, name);
  bool first = true;
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(const auto event,
                              watcher.Next(absl::InfiniteFuture()));
    if (std::exchange(first, false) ||
        (event.has_value() && MayFollowALoss(*event, last))) {
      PACELINE_RETURN_IF_ERROR(WriteRecorded(session, name, &last));
    }
    if (!event.has_value()) return absl::OkStatus();
    if (event->has_decision()) {
      PACELINE_RETURN_IF_ERROR(
          WriteDecision(session, event->decision(), &last));
    }
  }
}

}  // namespace

void AddJobFollowCommands(CLI::App& job, ChosenCommand& chosen) {
  const auto wait = AddCommand<WaitFlags>(
      job, "wait", "Wait until jobs are in a state", chosen, &WaitForJobs);
  AddJobPositional(*wait.app, wait.flags->names);
  wait.app
      ->add_option("--for", wait.flags->condition,
                   "What to wait for: state=SUCCEEDED, or another state, or "
                   "delete.")
      ->type_name("CONDITION")
      ->required();
  wait.app
      ->add_option("--timeout", wait.flags->timeout,
                   "Time to wait for all jobs together, as 30s or 2h. 0: as "
                   "long as it takes.")
      ->type_name("DURATION")
      ->capture_default_str();
  wait.app->footer(
      "\nExit code 1: a job has ended in another state. 6: the time is over.");

  const auto logs = AddCommand<LogsFlags>(
      job, "logs", "Print what was decided about a job, and why", chosen,
      &JobLogs);
  AddJobPositional(*logs.app, logs.flags->name);
  logs.app->add_flag("-f,--follow", logs.flags->follow,
                     "Go on with new lines until the job has ended.");
}

}  // namespace paceline
