#include "services/coordinator/control/jobs.h"

#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/job/job_defaults.h"
#include "common/job/job_plan.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/control/job_report.h"
#include "services/coordinator/jobs/job_check.h"
#include "services/coordinator/jobs/job_list.h"
#include "services/coordinator/jobs/job_quota.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

// A job that is paused evaluates for so many leases more: its curve is worth
// that, but not the wait for a long one.
constexpr int kEvaluateLeases = 3;

// For files that are deleted. Who deletes holds one of the few threads that
// answer.
constexpr absl::Duration kRemovalTimeout = absl::Seconds(2);
constexpr absl::Duration kReadingTimeout = absl::Seconds(10);

std::string DrawUid(Rng& rng) {
  const uint64_t high = rng.Next();
  const uint64_t low = rng.Next();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32,
                         high >> 16 & 0xffff, high & 0xfff,
                         (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

// How the removal has ended; FAILED_PRECONDITION if it has not by then.
absl::Status AwaitRemoval(const FolderTask& removal, absl::Time deadline,
                          const std::string& resource) {
  const std::optional<absl::Status> outcome = removal.Await(deadline);
  if (outcome.has_value()) return Annotate(*outcome, resource);
  return WrongState(resource,
                    "its files are still being deleted, for their disk is slow "
                    "or hangs: that goes on by itself, look again later");
}

// FAILED_PRECONDITION once the job has trained all that it was to.
absl::Status CheckTrains(const JobEntry& entry) {
  if (entry.active == nullptr || !entry.active->TrainingEnds()) {
    return absl::OkStatus();
  }
  if (entry.job.state() == v1::Job::PAUSING) {
    return WrongState(entry.job.name(),
                      "is about to be paused: wait for that, then resume it");
  }
  if (!entry.interrupted.empty()) {
    return WrongState(entry.job.name(),
                      absl::StrCat("cannot be changed for a moment, for ",
                                   entry.interrupted));
  }
  return WrongState(entry.job.name(),
                    "has finished its training and is about to end: wait for "
                    "that, then restore it to train on");
}

bool HasParts(const v1::JobSpec& spec) {
  return spec.data_assignment() == kStaticDataAssignment;
}

absl::Status CheckAutomatic(const v1::JobSpec& spec) {
  if (HasParts(spec)) {
    return absl::FailedPreconditionError(
        "the job has static parts of the data, and what the coordinator "
        "chooses from is worked out for dynamic samples");
  }
  if (spec.switches_size() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the job has planned switches, so its paradigm cannot be chosen while it "
      "trains");
}

absl::Status CheckKeepsParts(const v1::JobSpec& spec,
                             const ParadigmSwitch& wanted) {
  if (!HasParts(spec) || !Steals(wanted.spec)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the job has static parts of the data, and ",
                   wanted.paradigm, " takes samples of other workers' parts"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Jobs>> Jobs::Create(
    const JobsOptions& options, const Clock* clock, JobStore* store,
    JobJournal* journal, prometheus::Registry* registry) {
  auto jobs =
      absl::WrapUnique(new Jobs(options, clock, store, journal, registry));
  PACELINE_RETURN_IF_ERROR(jobs->book_.Load());
  PACELINE_RETURN_IF_ERROR(jobs->runs_.Start());
  jobs->planning_.emplace(&jobs->book_, &jobs->fleet(), clock);
  return jobs;
}

Jobs::Jobs(const JobsOptions& options, const Clock* clock, JobStore* store,
           JobJournal* journal, prometheus::Registry* registry)
    : options_(options),
      store_(store),
      journal_(journal),
      metrics_(*registry),
      book_(clock, store, options.entropy),
      checkpoints_(options.checkpoint_root, options.checkpoint_fallbacks,
                   options.lanes, store, &book_),
      runs_(options, clock, store, journal, registry, &metrics_, &book_,
            &checkpoints_) {}

absl::StatusOr<v1::Job> Jobs::View(const std::string& name) const {
  PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry, book_.Find(name));
  return book_.View(*entry);
}

absl::Status Jobs::NoteQuota(const absl::Status& checked) {
  if (!checked.ok()) metrics_.quota_refusals.Increment();
  return checked;
}

absl::Status Jobs::CheckInterval(const v1::Job& job) const {
  if (checkpoints_.kept() || !job.spec().checkpoints().has_interval()) {
    return absl::OkStatus();
  }
  return InvalidField("job.spec.checkpoints.interval",
                      "this cluster keeps no checkpoints: its coordinator "
                      "has no --checkpoints");
}

absl::StatusOr<v1::Checkpoint> Jobs::FindCheckpoint(
    const CheckpointName& name) const {
  PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                            book_.Find(name.job.Format()));
  return checkpoints_.Find(*entry, name);
}

absl::StatusOr<v1::Job> Jobs::CreateJob(const v1::CreateJobRequest& request,
                                        const std::string& identity,
                                        const std::string& traceparent) {
  const Asked asked = AskedBy(identity, request);
  absl::MutexLock lock(&book_.mu());
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(v1::Job job, CheckCreate(request, book_.ids()));
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, book_.Repeated(asked));
  if (repeated.has_value()) return View(*repeated);
  if (book_.Find(job.name()).ok()) return AlreadyExists(kJobType, job.name());
  PACELINE_ASSIGN_OR_RETURN(const JobName name,
                            ParseJobName("name", job.name()));
  PACELINE_RETURN_IF_ERROR(NoteQuota(
      CheckJobQuota(options_.quota, book_.JobsOf(name.name_space), job)));
  PACELINE_RETURN_IF_ERROR(CheckInterval(job));
  PACELINE_RETURN_IF_ERROR(fleet().CheckFormat(job.spec()));
  // What it is to have must not change with the coordinator.
  if (!job.spec().has_replicas() && options_.replicas > 0) {
    job.mutable_spec()->set_replicas(options_.replicas);
  }
  job.set_uid(DrawUid(book_.ids()));
  job.set_state(v1::Job::PENDING);
  job.set_state_reason("waits for workers");
  job.set_traceparent(traceparent);
  *job.mutable_create_time() = ToProto(absl::Now());
  if (request.validate_only()) return job;
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry,
                            book_.Add(std::move(job), asked));
  runs_.history().Tell(*entry, absl::StrCat("created by ", identity));
  runs_.Wake();
  return entry->job;
}

absl::StatusOr<v1::Job> Jobs::GetJob(const v1::GetJobRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckGet(request));
  absl::MutexLock lock(&book_.mu());
  PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                            book_.Find(name.Format()));
  v1::Job job = book_.View(*entry);
  if (!job.progress().has_advice() || entry->active == nullptr) return job;
  // The table of options is for who asks for one job.
  if (auto advice = entry->active->Advice()) {
    *job.mutable_progress()->mutable_advice() = *std::move(advice);
  }
  return job;
}

absl::StatusOr<v1::ListJobsResponse> Jobs::ListJobs(
    const v1::ListJobsRequest& request, const Namespaces& visible) const {
  absl::MutexLock lock(&book_.mu());
  std::vector<const v1::Job*> jobs;
  jobs.reserve(book_.entries().size());
  for (const auto& [name, entry] : book_.entries()) jobs.push_back(&entry.job);
  PACELINE_ASSIGN_OR_RETURN(v1::ListJobsResponse response,
                            paceline::ListJobs(request, jobs, visible));
  for (v1::Job& job : *response.mutable_jobs()) {
    job = book_.View(book_.entries().at(job.name()));
  }
  return response;
}

template <typename Request>
absl::StatusOr<v1::Job> Jobs::Apply(
    const Request& request, const std::string& identity, JobEvent event,
    const std::function<absl::Status(const JobEntry&, v1::Job&)>& change,
    const std::function<void(JobEntry&)>& act) {
  const Asked asked = AskedBy(identity, request);
  absl::MutexLock lock(&book_.mu());
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, book_.Repeated(asked));
  if (repeated.has_value()) return View(*repeated);
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry, book_.Find(request.name()));
  runs_.TakeNews(*entry);
  PACELINE_RETURN_IF_ERROR(CheckEtag(entry->job, request.etag()));
  v1::Job job = entry->job;
  PACELINE_ASSIGN_OR_RETURN(const v1::Job::State state,
                            NextState(job.state(), event, job.name()));
  job.set_state(state);
  PACELINE_RETURN_IF_ERROR(change(*entry, job));
  if (request.validate_only()) return job;
  PACELINE_RETURN_IF_ERROR(
      book_.Write(*entry, std::move(job), Durability::kStored, asked));
  act(*entry);
  runs_.Wake();
  return book_.View(*entry);
}

absl::StatusOr<v1::Job> Jobs::PauseJob(const v1::PauseJobRequest& request,
                                       const std::string& identity) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kPause,
      [this](const JobEntry& entry, v1::Job& job) -> absl::Status {
        if (job.state() == v1::Job::PAUSING && !checkpoints_.kept()) {
          return WrongState(job.name(),
                            "cannot pause: this cluster keeps no checkpoints, "
                            "its coordinator has no --checkpoints");
        }
        if (job.state() == v1::Job::PAUSING) {
          PACELINE_RETURN_IF_ERROR(CheckTrains(entry));
          job.set_state_reason("what is in flight finishes");
        } else {
          job.set_state_reason(job.has_start_time()
                                   ? "paused"
                                   : "paused before it began to train");
        }
        return absl::OkStatus();
      },
      [&](JobEntry& entry) {
        runs_.history().Tell(entry, absl::StrCat("paused by ", identity));
        if (entry.active != nullptr) {
          entry.active->Pause(kEvaluateLeases * options_.lease);
        }
      });
}

absl::StatusOr<v1::Job> Jobs::ResumeJob(const v1::ResumeJobRequest& request,
                                        const std::string& identity,
                                        const std::string& traceparent) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kResume,
      [&traceparent](const JobEntry& entry, v1::Job& job) {
        if (job.state() == v1::Job::PENDING) {
          job.set_state_reason("waits for workers");
          job.set_traceparent(traceparent);
        } else if (entry.active != nullptr && entry.active->Loading()) {
          job.set_state(v1::Job::STARTING);
          job.set_state_reason("its workers load the data");
        } else {
          job.set_state_reason(entry.ReasonWhileRunning());
        }
        return absl::OkStatus();
      },
      [&](JobEntry& entry) {
        runs_.history().Tell(entry, absl::StrCat("resumed by ", identity));
        // What a worker lacked may be there by now.
        runs_.fleet().ForgetJob(entry.job.name());
        // One that is interrupted goes on elsewhere.
        if (entry.active == nullptr || !entry.interrupted.empty()) return;
        if (!entry.active->Resume().ok()) {
          entry.interrupted = "its run was about to end: waits for workers";
        }
      });
}

absl::StatusOr<v1::Job> Jobs::CancelJob(const v1::CancelJobRequest& request,
                                        const std::string& identity) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kCancel,
      [&identity](const JobEntry&, v1::Job& job) {
        job.set_state_reason(absl::StrCat("cancelled by ", identity));
        if (HasEnded(job.state())) {
          *job.mutable_end_time() = ToProto(absl::Now());
        }
        return absl::OkStatus();
      },
      [&](JobEntry& entry) {
        runs_.history().Tell(entry, absl::StrCat("cancelled by ", identity));
        if (entry.active == nullptr) return;
        entry.active->Cancel(
            absl::CancelledError(absl::StrCat("cancelled by ", identity)));
      });
}

absl::StatusOr<v1::Job> Jobs::SwitchParadigm(
    const v1::SwitchParadigmRequest& request, const std::string& identity) {
  PACELINE_ASSIGN_OR_RETURN(const ParadigmSwitch wanted, CheckSwitch(request));
  const std::string reason = request.reason().empty()
                                 ? absl::StrCat("asked for by ", identity)
                                 : request.reason();
  return Apply(
      request, identity, JobEvent::kSwitch,
      [&](const JobEntry& entry, v1::Job& job) -> absl::Status {
        PACELINE_RETURN_IF_ERROR(CheckTrains(entry));
        v1::JobSpec& spec = *job.mutable_spec();
        if (wanted.automatic) {
          spec.mutable_auto_()->set_act(true);
          return CheckAutomatic(spec);
        }
        PACELINE_RETURN_IF_ERROR(CheckKeepsParts(spec, wanted));
        spec.clear_auto_();
        if (entry.active != nullptr) {
          PACELINE_RETURN_IF_ERROR(
              fleet().CheckRoom(*entry.active, wanted.spec));
        }
        spec.set_paradigm(wanted.paradigm);
        return absl::OkStatus();
      },
      [&](JobEntry& entry) {
        runs_.history().Tell(
            entry, absl::StrCat("paradigm ", request.paradigm(), ", set by ",
                                identity));
        if (entry.active == nullptr || wanted.automatic) return;
        const absl::Status switched = entry.active->Switch(wanted.spec, reason);
        // The last push may have been counted a moment ago.
        if (!switched.ok()) LogWarning(switched.message());
      });
}

absl::StatusOr<v1::Job> Jobs::RestoreJob(const v1::RestoreJobRequest& request,
                                         const std::string& identity,
                                         const std::string& traceparent) {
  PACELINE_ASSIGN_OR_RETURN(const JobRestore wanted, CheckRestore(request));
  bool had_ended = false;
  return Apply(
      request, identity, JobEvent::kRestore,
      [&](const JobEntry& entry, v1::Job& job)
          ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_.mu()) -> absl::Status {
            std::string from;
            if (wanted.checkpoint.has_value()) {
              PACELINE_ASSIGN_OR_RETURN(
                  const v1::Checkpoint checkpoint,
                  checkpoints_.Find(entry, *wanted.checkpoint));
              if (checkpoint.state() != v1::Checkpoint::READY) {
                return WrongState(checkpoint.name(),
                                  "is not READY: choose another one");
              }
              from = checkpoint.name();
            } else {
              PACELINE_ASSIGN_OR_RETURN(from, checkpoints_.Newest(entry));
            }
            PACELINE_RETURN_IF_ERROR(NoteQuota(CheckJobQuota(
                options_.quota, book_.JobsOf(wanted.job.name_space), job)));
            job.set_restore_from(from);
            runs_.SetBack(entry, job);
            job.set_state_reason("waits for workers");
            job.set_traceparent(traceparent);
            had_ended = job.has_end_time();
            job.clear_end_time();
            return absl::OkStatus();
          },
      [&](JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_.mu()) {
        // What a worker lacked may be there by now.
        runs_.fleet().ForgetJob(entry.job.name());
        // Those who watch a job that was paused go on. Those who saw an end
        // have gone, and who comes now sees what follows.
        if (had_ended) {
          entry.ForgetNews();
          entry.events.reset();
        }
        runs_.history().Tell(
            entry, absl::StrCat("restored from ", entry.job.restore_from(),
                                " by ", identity));
      });
}

absl::StatusOr<v1::Job> Jobs::UpdateJob(const v1::UpdateJobRequest& request,
                                        const std::string& identity) {
  const Asked asked = AskedBy(identity, request);
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckUpdate(request));
  absl::MutexLock lock(&book_.mu());
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, book_.Repeated(asked));
  if (repeated.has_value()) return View(*repeated);
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry, book_.Find(name.Format()));
  runs_.TakeNews(*entry);
  PACELINE_ASSIGN_OR_RETURN(v1::Job job, ApplyUpdate(entry->job, request));
  const bool trains_otherwise =
      DigestOf(job.spec()) != DigestOf(entry->job.spec());
  if (trains_otherwise) PACELINE_RETURN_IF_ERROR(CheckTrains(*entry));
  // A quota that was lowered since does not keep other fields from changing.
  if (job.spec().workers().min() > entry->job.spec().workers().min()) {
    PACELINE_RETURN_IF_ERROR(NoteQuota(CheckWorkerQuota(options_.quota, job)));
  }
  PACELINE_RETURN_IF_ERROR(CheckInterval(job));
  const bool switches = job.spec().paradigm() != entry->job.spec().paradigm();
  PACELINE_ASSIGN_OR_RETURN(const JobPlan plan, ParseJob(job.spec()));
  if (entry->active != nullptr && switches) {
    PACELINE_RETURN_IF_ERROR(fleet().CheckRoom(*entry->active, plan.paradigm));
  }
  if (request.validate_only()) return job;
  PACELINE_RETURN_IF_ERROR(
      book_.Write(*entry, std::move(job), Durability::kStored, asked));
  runs_.history().Tell(
      *entry, absl::StrCat(DescribeUpdate(request), ", set by ", identity));
  if (entry->active != nullptr && trains_otherwise) {
    entry->active->Update(plan);
    if (switches) {
      const absl::Status taken = entry->active->Switch(
          plan.paradigm, absl::StrCat("updated by ", identity));
      if (!taken.ok()) LogWarning(taken.message());
    }
  }
  runs_.Wake();
  return book_.View(*entry);
}

absl::StatusOr<JobEntry*> Jobs::FindToDelete(const JobName& name,
                                             const std::string& etag) {
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry, book_.Find(name.Format()));
  PACELINE_RETURN_IF_ERROR(CheckEtag(entry->job, etag));
  PACELINE_RETURN_IF_ERROR(
      NextState(entry->job.state(), JobEvent::kDelete, entry->job.name())
          .status());
  if (entry->active != nullptr) {
    return WrongState(entry->job.name(),
                      "its workers are still leaving: try again in a moment");
  }
  return entry;
}

absl::Status Jobs::DeleteJob(const v1::DeleteJobRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(
      const JobName name, CheckJobRequest(request.name(), request.etag(), ""));
  std::vector<std::shared_ptr<FolderTask>> removals;
  std::string uid;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry,
                              FindToDelete(name, request.etag()));
    if (request.validate_only()) return absl::OkStatus();
    uid = entry->job.uid();
    PACELINE_ASSIGN_OR_RETURN(removals, checkpoints_.BeginRemovalOfAll(*entry));
  }
  const absl::Time deadline = absl::Now() + kRemovalTimeout;
  for (const auto& removal : removals) {
    PACELINE_RETURN_IF_ERROR(AwaitRemoval(*removal, deadline, name.Format()));
  }
  absl::MutexLock lock(&book_.mu());
  // Somebody else may have deleted it meanwhile, or changed it, or made another
  // one of its name.
  PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                            FindToDelete(name, request.etag()));
  if (entry->job.uid() != uid) return NotFound(kJobType, name.Format());
  checkpoints_.TakeRemoved();
  PACELINE_RETURN_IF_ERROR(book_.Remove(*entry));
  runs_.fleet().ForgetJob(name.Format());
  return absl::OkStatus();
}

absl::StatusOr<v1::Checkpoint> Jobs::CreateCheckpoint(
    const v1::CreateCheckpointRequest& request, const std::string& identity) {
  const Asked asked = AskedBy(identity, request);
  absl::MutexLock lock(&book_.mu());
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            CheckCreateCheckpoint(request, book_.ids()));
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry,
                            book_.Find(name.job.Format()));
  runs_.TakeNews(*entry);
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, book_.Repeated(asked));
  if (repeated.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(const CheckpointName made,
                              ParseCheckpointName("name", *repeated));
    return FindCheckpoint(made);
  }
  PACELINE_RETURN_IF_ERROR(
      NextState(entry->job.state(), JobEvent::kCheckpoint, entry->job.name())
          .status());
  if (checkpoints_.Find(*entry, name).ok()) {
    return AlreadyExists(kCheckpointType, name.Format());
  }
  v1::Checkpoint checkpoint;
  checkpoint.set_name(name.Format());
  checkpoint.set_state(v1::Checkpoint::WRITING);
  *checkpoint.mutable_create_time() = checkpoints_.NextTime(*entry);
  if (entry->active == nullptr) {
    return WrongState(entry->job.name(),
                      "does not train right now: wait until it is RUNNING");
  }
  if (!checkpoints_.kept()) {
    return WrongState(entry->job.name(),
                      "this cluster keeps no checkpoints: its coordinator has "
                      "no --checkpoints");
  }
  if (request.validate_only()) return checkpoint;
  const std::string named =
      request.directory().empty()
          ? ""
          : Checkpoints::FolderBelow(request.directory(), entry->job);
  checkpoint.set_directory(
      absl::StrCat(named.empty() ? checkpoints_.FolderOf(entry->job) : named,
                   "/", name.checkpoint));
  PACELINE_RETURN_IF_ERROR(
      checkpoints_.Begin(*entry, name, checkpoint, named, asked));
  return checkpoints_.Find(*entry, name);
}

absl::StatusOr<v1::Checkpoint> Jobs::GetCheckpoint(
    const v1::GetCheckpointRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("name", request.name()));
  absl::MutexLock lock(&book_.mu());
  return FindCheckpoint(name);
}

absl::StatusOr<v1::ListCheckpointsResponse> Jobs::ListCheckpoints(
    const v1::ListCheckpointsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const auto wanted, CheckList(request));
  std::vector<v1::Checkpoint> checkpoints;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                              book_.Find(wanted.job.Format()));
    PACELINE_ASSIGN_OR_RETURN(checkpoints, checkpoints_.List(*entry));
  }
  v1::ListCheckpointsResponse response;
  response.set_next_page_token(TakePage(
      std::move(checkpoints), wanted.page,
      [](const v1::Checkpoint& checkpoint) {
        return NewestFirstKey(checkpoint.create_time(), checkpoint.name());
      },
      response.mutable_checkpoints()));
  return response;
}

absl::StatusOr<v1::ReadCheckpointResponse> Jobs::ReadCheckpoint(
    const v1::ReadCheckpointRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name, CheckReading(request));
  Checkpoints::Reading reading;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                              FindCheckpoint(name));
    PACELINE_ASSIGN_OR_RETURN(reading,
                              checkpoints_.BeginReading(checkpoint, request));
  }
  const std::optional<absl::Status> read =
      reading.task->Await(absl::Now() + kReadingTimeout);
  if (!read.has_value()) {
    return absl::UnavailableError(
        absl::StrCat(name.Format(), ": its disk is slow or hangs: try again"));
  }
  PACELINE_RETURN_IF_ERROR(Annotate(*read, name.Format()));
  return std::move(*reading.part);
}

absl::Status Jobs::DeleteCheckpoint(
    const v1::DeleteCheckpointRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("name", request.name()));
  std::shared_ptr<FolderTask> removal;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
    PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry,
                              book_.Find(name.job.Format()));
    runs_.TakeNews(*entry);
    PACELINE_ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                              FindCheckpoint(name));
    PACELINE_RETURN_IF_ERROR(Checkpoints::CheckRemovable(*entry, checkpoint));
    if (request.validate_only()) return absl::OkStatus();
    PACELINE_ASSIGN_OR_RETURN(removal,
                              checkpoints_.BeginRemoval(*entry, checkpoint));
  }
  PACELINE_RETURN_IF_ERROR(
      AwaitRemoval(*removal, absl::Now() + kRemovalTimeout, name.Format()));
  absl::MutexLock lock(&book_.mu());
  PACELINE_RETURN_IF_ERROR(book_.CheckOpen());
  checkpoints_.TakeRemoved();
  if (!FindCheckpoint(name).ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      name.Format(),
      ": its files are deleted, its record could not be: try again"));
}

absl::StatusOr<std::shared_ptr<JobEvents>> Jobs::WatchJob(
    const v1::WatchJobRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckWatch(request));
  absl::MutexLock lock(&book_.mu());
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry, book_.Find(name.Format()));
  return book_.EventsOf(*entry);
}

JobEvents::ReadHistory Jobs::HistoryOf(const std::string& name) const {
  return [this, name](const HistoryPlace& after, const HistoryPlace& until,
                      int64_t limit)
             -> absl::StatusOr<std::vector<v1::WatchJobResponse>> {
    PACELINE_ASSIGN_OR_RETURN(const JobName job, ParseJobName("name", name));
    PACELINE_ASSIGN_OR_RETURN(const std::string uid, FlushedHistoryOf(job));
    std::vector<v1::WatchJobResponse> history;
    PACELINE_ASSIGN_OR_RETURN(
        std::vector<v1::Decision> decisions,
        store_->ListDecisions(uid, after.decisions, limit));
    for (v1::Decision& decision : decisions) {
      if (decision.sequence() > until.decisions) break;
      *history.emplace_back().mutable_decision() = std::move(decision);
    }
    PACELINE_ASSIGN_OR_RETURN(
        std::vector<NumberedPoint> points,
        store_->ListAccuracyPoints(uid, after.points, limit));
    for (NumberedPoint& numbered : points) {
      if (numbered.sequence > until.points) break;
      *history.emplace_back().mutable_accuracy() = std::move(numbered.point);
    }
    return history;
  };
}

absl::StatusOr<std::string> Jobs::FlushedHistoryOf(const JobName& job) const {
  std::string uid;
  {
    absl::MutexLock lock(&book_.mu());
    PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                              book_.Find(job.Format()));
    uid = entry->job.uid();
  }
  journal_->Flush(kFlushTimeout).IgnoreError();
  return uid;
}

absl::StatusOr<v1::ListDecisionsResponse> Jobs::ListDecisions(
    const v1::ListDecisionsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const auto wanted, CheckList(request));
  PACELINE_ASSIGN_OR_RETURN(const std::string uid,
                            FlushedHistoryOf(wanted.job));
  PACELINE_ASSIGN_OR_RETURN(
      std::vector<v1::Decision> decisions,
      store_->ListDecisions(uid, wanted.page.after, wanted.page.size + 1));
  v1::ListDecisionsResponse response;
  response.set_next_page_token(TakeSequencePage(
      std::move(decisions), wanted.page, [&](v1::Decision& decision) {
        *response.add_decisions() = std::move(decision);
        return response.decisions().rbegin()->sequence();
      }));
  return response;
}

absl::StatusOr<v1::ListAccuracyPointsResponse> Jobs::ListAccuracyPoints(
    const v1::ListAccuracyPointsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const auto wanted, CheckList(request));
  PACELINE_ASSIGN_OR_RETURN(const std::string uid,
                            FlushedHistoryOf(wanted.job));
  PACELINE_ASSIGN_OR_RETURN(
      auto points,
      store_->ListAccuracyPoints(uid, wanted.page.after, wanted.page.size + 1));
  v1::ListAccuracyPointsResponse response;
  response.set_next_page_token(TakeSequencePage(
      std::move(points), wanted.page, [&](NumberedPoint& numbered) {
        *response.add_accuracy_points() = std::move(numbered.point);
        return numbered.sequence;
      }));
  return response;
}

absl::StatusOr<v1::JobReport> Jobs::GetJobReport(
    const v1::GetJobReportRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckGet(request));
  v1::JobReport report;
  absl::MutexLock lock(&book_.mu());
  PACELINE_ASSIGN_OR_RETURN(const JobEntry* const entry,
                            book_.Find(name.Format()));
  PACELINE_ASSIGN_OR_RETURN(*report.mutable_json(),
                            runs_.history().ReportOf(*entry));
  const std::string last =
      entry->active == nullptr ? "" : entry->active->Report();
  if (!last.empty()) {
    report.set_json(
        MergeReports(report.json(), last, entry->active->SecondsBefore()));
  }
  if (report.json().empty()) {
    return WrongState(name.Format(),
                      "has not begun to train yet: wait until it is RUNNING");
  }
  return report;
}

absl::StatusOr<v1::ListWorkersResponse> Jobs::ListWorkers(
    const v1::ListWorkersRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const PageStart page, CheckList(request));
  std::vector<v1::Worker> workers;
  for (FleetMember& member : runs_.fleet().Members()) {
    workers.push_back(std::move(member.worker));
  }
  v1::ListWorkersResponse response;
  response.set_next_page_token(TakePage(
      std::move(workers), page,
      [](const v1::Worker& worker) { return worker.name(); },
      response.mutable_workers()));
  Measure(*response.mutable_workers());
  return response;
}

absl::StatusOr<v1::ListServersResponse> Jobs::ListServers(
    const v1::ListServersRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const PageStart page, CheckList(request));
  v1::ListServersResponse response;
  response.set_next_page_token(TakePage(
      runs_.fleet().Servers(), page,
      [](const v1::Server& server) { return server.name(); },
      response.mutable_servers()));
  return response;
}

v1::JobProgress Jobs::ProgressOf(const std::string& job) const {
  absl::MutexLock lock(&book_.mu());
  const auto it = book_.entries().find(job);
  if (it == book_.entries().end() || it->second.news == nullptr) return {};
  return it->second.news->progress();
}

void Jobs::Measure(
    google::protobuf::RepeatedPtrField<v1::Worker>& workers) const {
  // By job and by name: each job is asked once.
  std::map<std::string, std::map<std::string, v1::WorkerProgress>> rows;
  for (v1::Worker& worker : workers) {
    if (worker.job().empty()) continue;
    const auto [job, first] = rows.try_emplace(worker.job());
    if (first) {
      v1::JobProgress progress = ProgressOf(worker.job());
      for (v1::WorkerProgress& row : *progress.mutable_workers()) {
        const std::string name = row.worker();
        job->second.emplace(name, std::move(row));
      }
    }
    const auto row = job->second.find(
        std::string(absl::StripPrefix(worker.name(), "workers/")));
    if (row == job->second.end()) continue;
    worker.set_samples_per_second(row->second.samples_per_second());
    worker.set_straggler_score(row->second.straggler_score());
    worker.set_straggler(row->second.straggler());
  }
}

absl::StatusOr<v1::Worker> Jobs::GetWorker(const std::string& name) const {
  PACELINE_RETURN_IF_ERROR(ParseWorkerName("name", name).status());
  for (FleetMember& member : runs_.fleet().Members()) {
    if (member.worker.name() != name) continue;
    google::protobuf::RepeatedPtrField<v1::Worker> found;
    *found.Add() = std::move(member.worker);
    Measure(found);
    return found[0];
  }
  return NotFound(kWorkerType, name);
}

absl::StatusOr<v1::Server> Jobs::SetServerDraining(const std::string& name,
                                                   bool draining) {
  PACELINE_ASSIGN_OR_RETURN(const std::string server,
                            ParseServerName("name", name));
  PACELINE_RETURN_IF_ERROR(runs_.fleet().SetServerDraining(server, draining));
  for (v1::Server& found : runs_.fleet().Servers()) {
    if (found.name() == name) return std::move(found);
  }
  return NotFound(kServerType, name);
}

absl::StatusOr<v1::Worker> Jobs::SetDraining(const std::string& name,
                                             bool draining) {
  PACELINE_ASSIGN_OR_RETURN(const std::string worker,
                            ParseWorkerName("name", name));
  PACELINE_RETURN_IF_ERROR(runs_.fleet().SetDraining(worker, draining));
  return GetWorker(name);
}

}  // namespace paceline
