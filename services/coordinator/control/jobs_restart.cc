// What another life of the coordinator has left in the store.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/manifest.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/control/proto_time.h"

namespace paceline {

absl::Status Jobs::Load() {
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
    PACELINE_RETURN_IF_ERROR(TakeOver(std::move(job)));
  }
  return absl::OkStatus();
}

absl::Status Jobs::TakeOver(v1::Job job) {
  const std::string name = job.name();
  const v1::Job::State before = job.state();
  PACELINE_ASSIGN_OR_RETURN(const v1::Job::State state,
                            NextState(before, JobEvent::kRestarted, name));
  Entry& entry = entries_[name];
  entry.number = next_number_++;
  entry.job = job;
  if (state == v1::Job::PENDING) busy_.insert(name);
  PACELINE_ASSIGN_OR_RETURN(const std::string found, SettleCheckpoints(entry));
  if (state == before) return absl::OkStatus();
  job.set_state(state);
  if (state == v1::Job::PAUSED) {
    // Not simply the newest: the job may have been restored from an earlier
    // one.
    if (!found.empty()) job.set_restore_from(found);
    job.set_state_reason(
        job.restore_from().empty()
            ? "the coordinator has restarted: resume it, and it begins anew"
            : absl::StrCat("the coordinator has restarted: resume it, and it "
                           "goes on from ",
                           job.restore_from()));
  } else {
    job.set_state_reason("the coordinator has restarted");
    *job.mutable_end_time() = ToProto(absl::Now());
  }
  LogWarning(absl::StrCat(name, ": ", job.state_reason()));
  return Commit(entry, std::move(job));
}

absl::StatusOr<std::string> Jobs::SettleCheckpoints(const Entry& entry) {
  std::string found;
  PACELINE_ASSIGN_OR_RETURN(std::vector<v1::Checkpoint> checkpoints,
                            CheckpointsOf(entry));
  for (v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state() != v1::Checkpoint::WRITING) continue;
    const auto manifest = ReadManifest(checkpoint.directory());
    if (manifest.ok()) {
      // It was finished; only the word of it was lost.
      uint64_t bytes = 0;
      for (const CheckpointFile& file : manifest->files) bytes += file.bytes;
      checkpoint.set_state(v1::Checkpoint::READY);
      checkpoint.set_bytes(bytes);
      checkpoint.set_version_at_completion(manifest->version_at_completion);
      if (found.empty()) found = checkpoint.name();  // Newest first.
    } else {
      checkpoint.set_state(v1::Checkpoint::FAILED);
      checkpoint.set_state_reason(
          "the coordinator has restarted while it was written");
      const absl::Status removed = RemoveCheckpointFiles(checkpoint);
      if (!removed.ok()) LogWarning(removed.message());
    }
    PACELINE_RETURN_IF_ERROR(
        store_->PutCheckpoint(entry.job.uid(), checkpoint));
  }
  return found;
}

}  // namespace paceline
