#include "services/coordinator/control/job_book.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {
namespace {

// Each attempt holds the lock for as long as the store waits for the file.
constexpr absl::Duration kSaveAgain = absl::Seconds(5);

// Of the jobs that do not run, so many, those that changed last, still have
// metrics, events and iterations: the others are thousands.
constexpr size_t kIdleKept = 32;

void Stamp(v1::Job& job) {
  if (EtagOf(job) == job.etag()) return;  // Nothing that an etag guards.
  *job.mutable_update_time() = ToProto(absl::Now());
  job.clear_etag();
  job.set_etag(EtagOf(job));
}

}  // namespace

void JobEntry::ForgetNews() {
  if (news == nullptr) return;
  last_decision = news->last_decision();
  news.reset();
}

absl::Status JobBook::Load() {
  PACELINE_ASSIGN_OR_RETURN(std::vector<v1::Job> jobs, store_->LoadJobs());
  const auto created = [](const v1::Job& job) {
    return std::make_tuple(job.create_time().seconds(),
                           job.create_time().nanos(), job.name());
  };
  std::sort(jobs.begin(), jobs.end(), [&](const v1::Job& a, const v1::Job& b) {
    return created(a) < created(b);
  });
  absl::MutexLock lock(&mu_);
  for (v1::Job& job : jobs) {
    JobEntry& entry = entries_[job.name()];
    entry.number = next_number_++;
    entry.job = std::move(job);
    SetBusy(entry);
  }
  return absl::OkStatus();
}

absl::StatusOr<JobEntry*> JobBook::Find(const std::string& name) {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return NotFound(kJobType, name);
  return &it->second;
}

absl::StatusOr<const JobEntry*> JobBook::Find(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return NotFound(kJobType, name);
  return &it->second;
}

std::vector<JobEntry*> JobBook::Busy() {
  std::vector<JobEntry*> busy;
  busy.reserve(busy_.size());
  for (const std::string& name : busy_) busy.push_back(&entries_.at(name));
  return busy;
}

std::vector<const v1::Job*> JobBook::JobsOf(
    absl::string_view name_space) const {
  const std::string first = absl::StrCat("namespaces/", name_space, "/");
  std::vector<const v1::Job*> jobs;
  for (auto it = entries_.lower_bound(first);
       it != entries_.end() && absl::StartsWith(it->first, first); ++it) {
    jobs.push_back(&it->second.job);
  }
  return jobs;
}

v1::Job JobBook::View(const JobEntry& entry) const {
  v1::Job job = entry.job;
  if (entry.active != nullptr) {
    *job.mutable_progress() = entry.active->Progress();
  }
  return job;
}

const std::shared_ptr<JobEvents>& JobBook::EventsOf(JobEntry& entry) {
  if (entry.events == nullptr) {
    const std::string& uid = entry.job.uid();
    // Without it, who resumes misses what was before.
    const HistoryPlace history = {
        .decisions = std::max(store_->LastDecisionSequence(uid).value_or(0),
                              entry.last_decision),
        .points = store_->LastAccuracyPoint(uid).value_or(0)};
    entry.events =
        std::make_shared<JobEvents>(View(entry), ids_.Next(), history);
    if (HasEnded(entry.job.state())) entry.events->Close(absl::OkStatus());
  }
  return entry.events;
}

absl::Status JobBook::Write(JobEntry& entry, v1::Job job, Durability durability,
                            const Asked& asked, absl::string_view resource) {
  Stamp(job);
  if (durability == Durability::kStored) {
    StoreBatch batch = entry.unsaved;
    batch.jobs = {job};
    if (!asked.request_id.empty()) {
      batch.requests.push_back(
          {asked.identity, asked.request_id, asked.digest,
           resource.empty() ? job.name() : std::string(resource), absl::Now()});
    }
    PACELINE_RETURN_IF_ERROR(store_->Write(batch));
    NoteStored(entry);
  } else if (durability == Durability::kRetried) {
    entry.unsaved.jobs = {job};
  }
  const bool changed = job.etag() != entry.job.etag();
  entry.job = std::move(job);
  SetBusy(entry);
  if (entry.events != nullptr && changed) {
    entry.events->JobChanged(View(entry));
    if (HasEnded(entry.job.state())) entry.events->Close(absl::OkStatus());
  } else if (entry.events != nullptr) {
    entry.events->JobRefreshed(View(entry));
  }
  // Those who watch have learned it by now: they may wait for nothing else.
  if (durability == Durability::kRetried) Save(entry);
  return absl::OkStatus();
}

absl::StatusOr<JobEntry*> JobBook::Add(v1::Job job, const Asked& asked) {
  JobEntry entry;
  entry.number = next_number_;
  PACELINE_RETURN_IF_ERROR(
      Write(entry, std::move(job), Durability::kStored, asked));
  ++next_number_;
  const std::string name = entry.job.name();
  return &entries_.emplace(name, std::move(entry)).first->second;
}

absl::Status JobBook::Remove(const JobEntry& entry) {
  const std::string name = entry.job.name();
  // The journal leaves out what it still has of jobs that are gone.
  PACELINE_RETURN_IF_ERROR(store_->DeleteJob(entry.job.uid()));
  if (entry.events != nullptr) entry.events->Close(NotFound(kJobType, name));
  busy_.erase(name);
  entries_.erase(name);
  return absl::OkStatus();
}

void JobBook::Save(JobEntry& entry) {
  if (entry.unsaved.empty() || clock_->Now() < next_save_) return;
  const absl::Status written = store_->Record(entry.unsaved);
  if (written.ok()) {
    NoteStored(entry);
  } else {
    if (next_save_ == absl::InfinitePast()) {
      LogError(absl::StrCat("jobs cannot be stored, trying again: ",
                            written.ToString()));
    }
    next_save_ = clock_->Now() + kSaveAgain;
  }
  SetBusy(entry);
}

void JobBook::NoteStored(JobEntry& entry) {
  entry.unsaved = {};
  const std::string journal = std::exchange(entry.ended_journal, {});
  if (!journal.empty()) unlink(journal.c_str());
  if (next_save_ == absl::InfinitePast()) return;
  LogInfo("jobs are stored again");
  next_save_ = absl::InfinitePast();
}

void JobBook::SetBusy(const JobEntry& entry) {
  if (entry.job.state() == v1::Job::PENDING || entry.active != nullptr ||
      !entry.unsaved.empty()) {
    busy_.insert(entry.job.name());
  } else {
    busy_.erase(entry.job.name());
  }
}

void JobBook::SaveAll() {
  for (JobEntry* const entry : Busy()) Save(*entry);
}

void JobBook::Close() {
  closed_ = true;
  next_save_ = absl::InfinitePast();
  SaveAll();
}

absl::Status JobBook::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return absl::UnavailableError(
      "the coordinator is stopping: try again when it has started anew");
}

absl::StatusOr<std::optional<std::string>> JobBook::Repeated(
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
  return before->resource;
}

void JobBook::LetGoOfIdle() {
  std::vector<std::tuple<int64_t, int32_t, JobNumber, JobEntry*>> idle;
  for (auto& [name, entry] : entries_) {
    if (entry.active != nullptr) continue;
    if (entry.metrics == nullptr && entry.events == nullptr) continue;
    const auto& changed = entry.job.update_time();
    idle.emplace_back(changed.seconds(), changed.nanos(), entry.number, &entry);
  }
  if (idle.size() <= kIdleKept) return;
  std::sort(idle.begin(), idle.end());
  idle.resize(idle.size() - kIdleKept);
  for (const auto& [seconds, nanos, number, entry] : idle) {
    entry->metrics.reset();
    entry->iterations.reset();
    entry->ForgetNews();
    // Only those that nothing follows: somebody may be about to subscribe. Who
    // resumes later begins with the job as it has ended.
    const bool over = HasEnded(entry->job.state());
    if (over && entry->events != nullptr && !entry->events->watched()) {
      entry->events.reset();
    }
  }
}

}  // namespace paceline
