// The checkpoints of jobs: those in the store are known, those on disk are
// whole.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/log/log.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/control/proto_time.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

constexpr uint32_t kCheckpointsKept = 3;
// They say why; a disk that is full makes another at every interval.
constexpr uint32_t kFailedKept = 10;

std::pair<int64_t, int32_t> CreatedAt(const v1::Checkpoint& checkpoint) {
  return {checkpoint.create_time().seconds(), checkpoint.create_time().nanos()};
}

void EraseNamed(std::vector<v1::Checkpoint>& checkpoints,
                absl::string_view name) {
  checkpoints.erase(
      std::remove_if(checkpoints.begin(), checkpoints.end(),
                     [name](const auto& it) { return it.name() == name; }),
      checkpoints.end());
}

// What is to be stored of that checkpoint.
void DropUnsaved(StoreBatch& unsaved, absl::string_view name) {
  auto& checkpoints = unsaved.checkpoints;
  checkpoints.erase(std::remove_if(checkpoints.begin(), checkpoints.end(),
                                   [name](const JobCheckpoint& it) {
                                     return it.checkpoint.name() == name;
                                   }),
                    checkpoints.end());
}

}  // namespace

std::string Jobs::FolderOf(const v1::Job& job) const {
  if (options_.checkpoint_root.empty()) return "";
  // By uid: another job of the same name never meets old files.
  return absl::StrCat(options_.checkpoint_root, "/", job.uid());
}

absl::StatusOr<std::vector<v1::Checkpoint>> Jobs::CheckpointsOf(
    const Entry& entry) const {
  PACELINE_ASSIGN_OR_RETURN(std::vector<v1::Checkpoint> checkpoints,
                            store_->ListCheckpoints(entry.job.uid()));
  for (const std::string& name : entry.unsaved.deleted_checkpoints) {
    EraseNamed(checkpoints, name);
  }
  for (const auto& [uid, checkpoint] : entry.unsaved.checkpoints) {
    EraseNamed(checkpoints, checkpoint.name());
    checkpoints.push_back(checkpoint);
  }
  std::stable_sort(checkpoints.begin(), checkpoints.end(),
                   [](const v1::Checkpoint& a, const v1::Checkpoint& b) {
                     return CreatedAt(a) > CreatedAt(b);
                   });
  return checkpoints;
}

absl::StatusOr<v1::Checkpoint> Jobs::FindCheckpoint(
    const CheckpointName& name) const {
  PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(name.job));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            CheckpointsOf(*entry));
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.name() == name.Format()) return checkpoint;
  }
  return NotFound(kCheckpointType, name.Format());
}

absl::StatusOr<std::string> Jobs::NewestCheckpoint(const Entry& entry) const {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            CheckpointsOf(entry));
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state() == v1::Checkpoint::READY) return checkpoint.name();
  }
  return WrongState(entry.job.name(),
                    "has no checkpoint to go on from: create a job anew");
}

absl::StatusOr<v1::Checkpoint> Jobs::CreateCheckpoint(
    const v1::CreateCheckpointRequest& request, const std::string& identity) {
  const Asked asked = AskedBy(identity, request);
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            CheckCreateCheckpoint(request, ids_));
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name.job));
  TakeNews(*entry);
  if (!asked.request_id.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        const auto before,
        store_->FindRequest(asked.identity, asked.request_id, absl::Now()));
    if (before.has_value() && before->digest != asked.digest) {
      return InvalidField("request_id",
                          "was used for another request: draw a new UUID");
    }
    if (before.has_value()) {
      PACELINE_ASSIGN_OR_RETURN(const CheckpointName made,
                                ParseCheckpointName("name", before->resource));
      return FindCheckpoint(made);
    }
  }
  PACELINE_RETURN_IF_ERROR(
      NextState(entry->job.state(), JobEvent::kCheckpoint, entry->job.name())
          .status());
  if (FindCheckpoint(name).ok()) {
    return AlreadyExists(kCheckpointType, name.Format());
  }
  v1::Checkpoint checkpoint;
  checkpoint.set_name(name.Format());
  checkpoint.set_state(v1::Checkpoint::WRITING);
  *checkpoint.mutable_create_time() = ToProto(absl::Now());
  if (entry->active == nullptr) {
    return WrongState(entry->job.name(),
                      "does not train right now: wait until it is RUNNING");
  }
  if (options_.checkpoint_root.empty()) {
    return WrongState(entry->job.name(),
                      "this cluster keeps no checkpoints: its coordinator has "
                      "no --checkpoints");
  }
  if (request.validate_only()) return checkpoint;
  checkpoint.set_directory(
      absl::StrCat(FolderOf(entry->job), "/", name.checkpoint));
  PACELINE_RETURN_IF_ERROR(
      BeginCheckpoint(*entry, checkpoint, name.checkpoint, asked));
  // The run has told of it by now.
  TakeNews(*entry);
  return FindCheckpoint(name);
}

absl::Status Jobs::BeginCheckpoint(Entry& entry,
                                   const v1::Checkpoint& checkpoint,
                                   const std::string& id, const Asked& asked) {
  StoreBatch batch = entry.unsaved;
  batch.checkpoints.push_back({entry.job.uid(), checkpoint});
  if (!asked.request_id.empty()) {
    batch.requests = {{asked.identity, asked.request_id, asked.digest,
                       checkpoint.name(), absl::Now()}};
  }
  PACELINE_RETURN_IF_ERROR(store_->Write(batch));
  entry.unsaved = {};
  const absl::Status begun = entry.active->run().WriteCheckpoint(id);
  if (begun.ok()) return absl::OkStatus();
  entry.unsaved.deleted_checkpoints.push_back(checkpoint.name());
  if (!asked.request_id.empty()) {
    entry.unsaved.deleted_requests.push_back(
        {asked.identity, asked.request_id});
  }
  Save(entry);
  return WrongState(entry.job.name(), begun.message());
}

absl::StatusOr<v1::Checkpoint> Jobs::GetCheckpoint(
    const v1::GetCheckpointRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("name", request.name()));
  absl::MutexLock lock(&mu_);
  return FindCheckpoint(name);
}

absl::StatusOr<v1::ListCheckpointsResponse> Jobs::ListCheckpoints(
    const v1::ListCheckpointsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobKeyPage wanted, CheckList(request));
  std::vector<v1::Checkpoint> checkpoints;
  {
    absl::MutexLock lock(&mu_);
    PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(wanted.job));
    PACELINE_ASSIGN_OR_RETURN(checkpoints, CheckpointsOf(*entry));
  }
  PageOf<v1::Checkpoint> page = TakePage(
      std::move(checkpoints), wanted.page, wanted.query,
      [](const v1::Checkpoint& checkpoint) {
        return NewestFirstKey(checkpoint.create_time(), checkpoint.name());
      });
  v1::ListCheckpointsResponse response;
  for (v1::Checkpoint& checkpoint : page.items) {
    *response.add_checkpoints() = std::move(checkpoint);
  }
  response.set_next_page_token(page.next_page_token);
  return response;
}

absl::Status Jobs::DeleteCheckpoint(
    const v1::DeleteCheckpointRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("name", request.name()));
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(CheckOpen());
  PACELINE_ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                            FindCheckpoint(name));
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name.job));
  if (checkpoint.state() == v1::Checkpoint::WRITING) {
    return WrongState(checkpoint.name(),
                      "is being written: wait until it is READY");
  }
  if (entry->job.restore_from() == checkpoint.name() &&
      !HasEnded(entry->job.state())) {
    return WrongState(checkpoint.name(),
                      "the job would go on from it: restore the job from "
                      "another one first");
  }
  if (request.validate_only()) return absl::OkStatus();
  return RemoveStored(*entry, checkpoint);
}

absl::Status Jobs::RemoveStored(Entry& entry, v1::Checkpoint checkpoint) {
  const std::string name = checkpoint.name();
  if (checkpoint.state() != v1::Checkpoint::FAILED) {
    // Whatever goes wrong from here on, what is READY is whole.
    checkpoint.set_state(v1::Checkpoint::FAILED);
    checkpoint.set_state_reason("it was being deleted");
    PACELINE_RETURN_IF_ERROR(
        store_->PutCheckpoint(entry.job.uid(), checkpoint));
  }
  DropUnsaved(entry.unsaved, name);
  PACELINE_RETURN_IF_ERROR(RemoveCheckpointFiles(checkpoint));
  return store_->DeleteCheckpoint(name);
}

absl::Status Jobs::RemoveCheckpointFiles(
    const v1::Checkpoint& checkpoint) const {
  if (checkpoint.directory().empty()) return absl::OkStatus();
  const absl::Status removed = RemoveCheckpoint(checkpoint.directory());
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

v1::Checkpoint Jobs::NoteCheckpoint(Entry& entry, v1::Checkpoint checkpoint) {
  checkpoint.set_name(
      absl::StrCat(entry.job.name(), "/checkpoints/", checkpoint.name()));
  // Its time is that of its first appearance.
  *checkpoint.mutable_create_time() = ToProto(absl::Now());
  const auto known = CheckpointsOf(entry);
  if (known.ok()) {
    for (const v1::Checkpoint& it : *known) {
      if (it.name() != checkpoint.name()) continue;
      *checkpoint.mutable_create_time() = it.create_time();
    }
  }
  DropUnsaved(entry.unsaved, checkpoint.name());
  entry.unsaved.checkpoints.push_back({entry.job.uid(), checkpoint});
  return checkpoint;
}

void Jobs::PruneCheckpoints(Entry& entry) {
  // While the store fails nothing is deleted: the next one that is ready does.
  if (!entry.unsaved.empty()) return;
  const auto checkpoints = CheckpointsOf(entry);
  if (!checkpoints.ok()) return;
  const uint32_t wanted = entry.job.spec().checkpoints().keep();
  const uint32_t keep = wanted > 0 ? wanted : kCheckpointsKept;
  uint32_t ready = 0;
  uint32_t failed = 0;
  for (const v1::Checkpoint& checkpoint : *checkpoints) {
    if (checkpoint.name() == entry.job.restore_from()) continue;
    const bool old =
        (checkpoint.state() == v1::Checkpoint::READY && ++ready > keep) ||
        (checkpoint.state() == v1::Checkpoint::FAILED &&
         ++failed > kFailedKept);
    if (!old) continue;
    const absl::Status removed = RemoveStored(entry, checkpoint);
    if (!removed.ok()) {
      LogWarning(absl::StrCat("could not remove ", checkpoint.name(), ": ",
                              removed.message()));
    }
  }
}

}  // namespace paceline
