// What callers ask of jobs.

#include "services/coordinator/control/jobs.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/control/proto_time.h"
#include "services/coordinator/jobs/digest.h"
#include "services/coordinator/jobs/job_check.h"
#include "services/coordinator/jobs/job_list.h"
#include "services/coordinator/jobs/job_quota.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

// Each attempt holds the lock for as long as the store waits for the file.
constexpr absl::Duration kSaveAgain = absl::Seconds(5);

// A job that is paused evaluates for so many leases more: its curve is worth
// that, but not the wait for a long one.
constexpr int kEvaluateLeases = 3;

void Stamp(v1::Job& job) {
  if (EtagOf(job) == job.etag()) return;  // Nothing that an etag guards.
  *job.mutable_update_time() = ToProto(absl::Now());
  job.clear_etag();
  job.set_etag(EtagOf(job));
}

std::string DrawUid(Rng& rng) {
  const uint64_t high = rng.Next();
  const uint64_t low = rng.Next();
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32,
                         high >> 16 & 0xffff, high & 0xfff,
                         (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Jobs>> Jobs::Create(
    const JobsOptions& options, const Clock* clock, JobStore* store,
    JobJournal* journal, prometheus::Registry* registry) {
  auto jobs =
      absl::WrapUnique(new Jobs(options, clock, store, journal, registry));
  PACELINE_RETURN_IF_ERROR(jobs->Load());
  jobs->control_ = std::thread([jobs = jobs.get()] { jobs->Control(); });
  return jobs;
}

Jobs::Jobs(const JobsOptions& options, const Clock* clock, JobStore* store,
           JobJournal* journal, prometheus::Registry* registry)
    : options_(options),
      clock_(clock),
      store_(store),
      journal_(journal),
      registry_(registry),
      metrics_(*registry),
      fleet_(clock, options.lease, [this] { Wake(); }),
      ids_(options.entropy) {}

absl::StatusOr<Jobs::Entry*> Jobs::Find(const JobName& name) {
  const auto it = entries_.find(name.Format());
  if (it == entries_.end()) return NotFound(kJobType, name.Format());
  return &it->second;
}

absl::StatusOr<const Jobs::Entry*> Jobs::Find(const JobName& name) const {
  const auto it = entries_.find(name.Format());
  if (it == entries_.end()) return NotFound(kJobType, name.Format());
  return &it->second;
}

absl::StatusOr<std::optional<v1::Job>> Jobs::Repeated(
    const Asked& asked) const {
  if (asked.request_id.empty()) return std::nullopt;
  PACELINE_ASSIGN_OR_RETURN(
      const auto before,
      store_->FindRequest(asked.identity, asked.request_id, absl::Now()));
  if (!before.has_value()) return std::nullopt;
  if (before->digest != asked.digest) {
    return InvalidField("request_id",
                        "was used for another request: draw a new UUID");
  }
  const auto it = entries_.find(before->resource);
  if (it == entries_.end()) return NotFound(kJobType, before->resource);
  return View(it->second);
}

v1::Job Jobs::View(const Entry& entry) const {
  v1::Job job = entry.job;
  if (entry.active != nullptr) {
    *job.mutable_progress() = entry.active->run().Progress();
  }
  return job;
}

std::vector<const v1::Job*> Jobs::JobsOf(absl::string_view name_space) const {
  const std::string first = absl::StrCat("namespaces/", name_space, "/");
  std::vector<const v1::Job*> jobs;
  for (auto it = entries_.lower_bound(first);
       it != entries_.end() && absl::StartsWith(it->first, first); ++it) {
    jobs.push_back(&it->second.job);
  }
  return jobs;
}

absl::Status Jobs::Commit(Entry& entry, v1::Job job, const Asked& asked) {
  Stamp(job);
  StoreBatch batch = entry.unsaved;
  batch.jobs = {job};
  if (!asked.request_id.empty()) {
    batch.requests.push_back({asked.identity, asked.request_id, asked.digest,
                              job.name(), absl::Now()});
  }
  PACELINE_RETURN_IF_ERROR(store_->Write(batch));
  entry.unsaved = {};
  Show(entry, std::move(job));
  return absl::OkStatus();
}

void Jobs::Note(Entry& entry, v1::Job job) {
  Stamp(job);
  entry.unsaved.jobs = {job};
  // Those who watch learn it now: they may wait for nothing else.
  Show(entry, std::move(job));
  Save(entry);
}

void Jobs::ShowOnly(Entry& entry, v1::Job job) {
  Stamp(job);
  Show(entry, std::move(job));
}

void Jobs::Save(Entry& entry) {
  if (entry.unsaved.empty() || clock_->Now() < next_save_) return;
  const absl::Status written = store_->Write(entry.unsaved);
  const bool failed_before = next_save_ > absl::InfinitePast();
  if (written.ok()) {
    if (failed_before) LogInfo("jobs are stored again");
    next_save_ = absl::InfinitePast();
    entry.unsaved = {};
  } else {
    if (!failed_before) {
      LogError(absl::StrCat("jobs cannot be stored, trying again: ",
                            written.ToString()));
    }
    next_save_ = clock_->Now() + kSaveAgain;
  }
  SetBusy(entry);
}

void Jobs::SetBusy(const Entry& entry) {
  if (entry.job.state() == v1::Job::PENDING || entry.active != nullptr ||
      !entry.unsaved.empty()) {
    busy_.insert(entry.job.name());
  } else {
    busy_.erase(entry.job.name());
  }
}

void Jobs::Show(Entry& entry, v1::Job job) {
  const bool changed = job.etag() != entry.job.etag();
  entry.job = std::move(job);
  SetBusy(entry);
  if (entry.events == nullptr) return;
  if (!changed) return entry.events->JobRefreshed(View(entry));
  entry.events->JobChanged(View(entry));
  if (HasEnded(entry.job.state())) entry.events->Close(absl::OkStatus());
}

absl::StatusOr<v1::Job> Jobs::CreateJob(const v1::CreateJobRequest& request,
                                        const std::string& identity,
                                        const std::string& traceparent) {
  const Asked asked = AskedBy(identity, request);
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(v1::Job job, CheckCreate(request, ids_));
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, Repeated(asked));
  if (repeated.has_value()) return *repeated;
  if (entries_.contains(job.name())) return AlreadyExists(kJobType, job.name());
  PACELINE_ASSIGN_OR_RETURN(const JobName name,
                            ParseJobName("name", job.name()));
  PACELINE_RETURN_IF_ERROR(
      NoteQuota(CheckJobQuota(options_.quota, JobsOf(name.name_space), job)));
  const auto& checkpoints = job.spec().checkpoints();
  if (checkpoints.has_interval() && options_.checkpoint_root.empty()) {
    return InvalidField("job.spec.checkpoints.interval",
                        "this cluster keeps no checkpoints: its coordinator "
                        "has no --checkpoints");
  }
  job.set_uid(DrawUid(ids_));
  job.set_state(v1::Job::PENDING);
  job.set_state_reason("waits for workers");
  job.set_traceparent(traceparent);
  *job.mutable_create_time() = ToProto(absl::Now());
  if (request.validate_only()) return job;
  Entry entry;
  entry.number = next_number_;
  PACELINE_RETURN_IF_ERROR(Commit(entry, std::move(job), asked));
  ++next_number_;
  const std::string key = entry.job.name();
  v1::Job created = entry.job;
  entries_.emplace(key, std::move(entry));
  Wake();
  return created;
}

absl::StatusOr<v1::Job> Jobs::GetJob(const v1::GetJobRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckGet(request));
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(name));
  return View(*entry);
}

absl::StatusOr<v1::ListJobsResponse> Jobs::ListJobs(
    const v1::ListJobsRequest& request) const {
  absl::MutexLock lock(&mu_);
  std::vector<const v1::Job*> jobs;
  jobs.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) jobs.push_back(&entry.job);
  PACELINE_ASSIGN_OR_RETURN(v1::ListJobsResponse response,
                            paceline::ListJobs(request, jobs));
  for (v1::Job& job : *response.mutable_jobs()) {
    job = View(entries_.at(job.name()));
  }
  return response;
}

template <typename Request>
absl::StatusOr<v1::Job> Jobs::Apply(
    const Request& request, const std::string& identity, JobEvent event,
    const std::function<absl::Status(v1::Job&)>& change,
    const std::function<void(Entry&)>& act) {
  const Asked asked = AskedBy(identity, request);
  PACELINE_ASSIGN_OR_RETURN(const JobName name,
                            ParseJobName("name", request.name()));
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, Repeated(asked));
  if (repeated.has_value()) return *repeated;
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name));
  TakeNews(*entry);
  PACELINE_RETURN_IF_ERROR(CheckEtag(entry->job, request.etag()));
  v1::Job job = entry->job;
  PACELINE_ASSIGN_OR_RETURN(const v1::Job::State state,
                            NextState(job.state(), event, job.name()));
  job.set_state(state);
  PACELINE_RETURN_IF_ERROR(change(job));
  if (request.validate_only()) return job;
  PACELINE_RETURN_IF_ERROR(Commit(*entry, std::move(job), asked));
  act(*entry);
  Wake();
  return View(*entry);
}

absl::StatusOr<v1::Job> Jobs::PauseJob(const v1::PauseJobRequest& request,
                                       const std::string& identity) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kPause,
      [&](v1::Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
        if (job.state() == v1::Job::PAUSING &&
            options_.checkpoint_root.empty()) {
          return WrongState(job.name(),
                            "cannot pause: this cluster keeps no checkpoints, "
                            "its coordinator has no --checkpoints");
        }
        if (job.state() == v1::Job::PAUSING) {
          PACELINE_RETURN_IF_ERROR(CheckTrains(entries_.at(job.name())));
          job.set_state_reason("what is in flight finishes");
        } else {
          job.set_state_reason(job.has_start_time()
                                   ? "paused"
                                   : "paused before it began to train");
        }
        return absl::OkStatus();
      },
      [this](Entry& entry) {
        if (entry.active != nullptr) {
          entry.active->run().Pause(kEvaluateLeases * options_.lease);
        }
      });
}

absl::StatusOr<v1::Job> Jobs::ResumeJob(const v1::ResumeJobRequest& request,
                                        const std::string& identity,
                                        const std::string& traceparent) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kResume,
      [&traceparent](v1::Job& job) {
        job.set_state_reason("waits for workers");
        job.set_traceparent(traceparent);
        return absl::OkStatus();
      },
      // What a worker lacked may be there by now.
      [this](Entry& entry) { fleet_.ForgetJob(entry.job.name()); });
}

absl::StatusOr<v1::Job> Jobs::CancelJob(const v1::CancelJobRequest& request,
                                        const std::string& identity) {
  PACELINE_RETURN_IF_ERROR(CheckVerb(request).status());
  return Apply(
      request, identity, JobEvent::kCancel,
      [&identity](v1::Job& job) {
        job.set_state_reason(absl::StrCat("cancelled by ", identity));
        if (HasEnded(job.state())) {
          *job.mutable_end_time() = ToProto(absl::Now());
        }
        return absl::OkStatus();
      },
      [&identity](Entry& entry) {
        if (entry.active == nullptr) return;
        entry.active->run().Cancel(
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
      [&](v1::Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
        PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(wanted.job));
        PACELINE_RETURN_IF_ERROR(CheckTrains(*entry));
        job.mutable_spec()->set_paradigm(wanted.paradigm);
        return absl::OkStatus();
      },
      [&](Entry& entry) {
        if (entry.active == nullptr) return;
        const absl::Status switched =
            entry.active->run().Switch(wanted.paradigm, reason);
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
      [&](v1::Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> absl::Status {
        std::string from;
        if (wanted.checkpoint.has_value()) {
          PACELINE_ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                                    FindCheckpoint(*wanted.checkpoint));
          if (checkpoint.state() != v1::Checkpoint::READY) {
            return WrongState(checkpoint.name(),
                              "is not READY: choose another one");
          }
          from = checkpoint.name();
        } else {
          PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(wanted.job));
          PACELINE_ASSIGN_OR_RETURN(from, NewestCheckpoint(*entry));
        }
        PACELINE_RETURN_IF_ERROR(NoteQuota(
            CheckJobQuota(options_.quota, JobsOf(wanted.job.name_space), job)));
        job.set_restore_from(from);
        job.set_state_reason("waits for workers");
        job.set_traceparent(traceparent);
        had_ended = job.has_end_time();
        job.clear_end_time();
        return absl::OkStatus();
      },
      [&](Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        // What a worker lacked may be there by now.
        fleet_.ForgetJob(entry.job.name());
        // Those who watch a job that was paused go on. Those who saw an end
        // have gone, and who comes now sees what follows.
        if (!had_ended) return;
        ForgetNews(entry);
        entry.events.reset();
      });
}

absl::StatusOr<v1::Job> Jobs::UpdateJob(const v1::UpdateJobRequest& request,
                                        const std::string& identity) {
  const Asked asked = AskedBy(identity, request);
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckUpdate(request));
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const auto repeated, Repeated(asked));
  if (repeated.has_value()) return *repeated;
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name));
  TakeNews(*entry);
  PACELINE_ASSIGN_OR_RETURN(v1::Job job, ApplyUpdate(entry->job, request));
  const bool trains_otherwise =
      DigestOf(job.spec()) != DigestOf(entry->job.spec());
  if (trains_otherwise) PACELINE_RETURN_IF_ERROR(CheckTrains(*entry));
  // A quota that was lowered since does not keep other fields from changing.
  if (job.spec().workers().min() > entry->job.spec().workers().min()) {
    PACELINE_RETURN_IF_ERROR(NoteQuota(CheckWorkerQuota(options_.quota, job)));
  }
  if (job.spec().checkpoints().has_interval() &&
      options_.checkpoint_root.empty()) {
    return InvalidField("job.spec.checkpoints.interval",
                        "this cluster keeps no checkpoints: its coordinator "
                        "has no --checkpoints");
  }
  if (request.validate_only()) return job;
  const bool switches = job.spec().paradigm() != entry->job.spec().paradigm();
  PACELINE_RETURN_IF_ERROR(Commit(*entry, std::move(job), asked));
  if (entry->active != nullptr && trains_otherwise) {
    JobRun& run = entry->active->run();
    absl::Status taken = run.Update(entry->job.spec());
    if (taken.ok() && switches) {
      taken = run.Switch(entry->job.spec().paradigm(),
                         absl::StrCat("updated by ", identity));
    }
    if (!taken.ok()) LogWarning(taken.message());
  }
  Wake();
  return View(*entry);
}

absl::Status Jobs::DeleteJob(const v1::DeleteJobRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckDelete(request));
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name));
  PACELINE_RETURN_IF_ERROR(CheckEtag(entry->job, request.etag()));
  PACELINE_RETURN_IF_ERROR(
      NextState(entry->job.state(), JobEvent::kDelete, entry->job.name())
          .status());
  if (entry->active != nullptr) {
    return WrongState(entry->job.name(),
                      "its workers are still leaving: try again in a moment");
  }
  if (request.validate_only()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            CheckpointsOf(*entry));
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    PACELINE_RETURN_IF_ERROR(RemoveStored(*entry, checkpoint));
  }
  if (const std::string folder = FolderOf(entry->job); !folder.empty()) {
    // If it is empty: what is not of a checkpoint is not ours.
    std::error_code ignored;
    std::filesystem::remove(folder, ignored);
  }
  // The journal leaves out what it still has of jobs that are gone.
  PACELINE_RETURN_IF_ERROR(store_->DeleteJob(entry->job.uid()));
  if (entry->events != nullptr) {
    entry->events->Close(NotFound(kJobType, entry->job.name()));
  }
  fleet_.ForgetJob(entry->job.name());
  busy_.erase(entry->job.name());
  entries_.erase(entry->job.name());
  return absl::OkStatus();
}

absl::Status Jobs::CheckTrains(const Entry& entry) const {
  if (entry.active == nullptr || !entry.active->run().TrainingEnds()) {
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

}  // namespace paceline
