#include "services/coordinator/control/checkpoints.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/manifest.h"
#include "common/job/job_defaults.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/durable_file.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/run/course/checkpoint_writing.h"

namespace paceline {
namespace {

// They say why; a disk that is full makes another at every interval.
constexpr uint32_t kFailedKept = 10;

// Of a file, in one answer.
constexpr uint64_t kPartBytes = 1 << 20;

// Each has one of the four threads that answer calls.
constexpr size_t kReadingMost = 3;

std::pair<int64_t, int32_t> CreatedAt(const v1::Checkpoint& checkpoint) {
  return {checkpoint.create_time().seconds(), checkpoint.create_time().nanos()};
}

void EraseNamed(std::vector<v1::Checkpoint>& checkpoints,
                absl::string_view name) {
  std::erase_if(checkpoints,
                [name](const auto& it) { return it.name() == name; });
}

// What is to be stored of that checkpoint.
void DropUnsaved(StoreBatch& unsaved, absl::string_view name) {
  std::erase_if(unsaved.checkpoints, [name](const JobCheckpoint& it) {
    return it.checkpoint.name() == name;
  });
}

absl::Status RemoveFiles(const std::string& directory) {
  const absl::Status removed = RemoveCheckpoint(directory);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status ReadPart(const std::string& directory,
                      const v1::ReadCheckpointRequest& wanted,
                      v1::ReadCheckpointResponse& part) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::string path,
      ResolveWithin(directory, PathIn(directory, wanted.file())));
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> file,
                            OpenAt(path));
  const auto offset = static_cast<uint64_t>(wanted.offset());
  if (offset > file->size()) {
    return absl::OutOfRangeError(absl::StrCat(
        wanted.file(), " has ", file->size(), " bytes, and none at ", offset));
  }
  part.set_file_bytes(static_cast<int64_t>(file->size()));
  std::string& data = *part.mutable_data();
  data.resize(std::min(file->size() - offset, kPartBytes));
  return file->Read(offset, absl::MakeSpan(data.data(), data.size()));
}

// A folder of a job, if it is empty: what is not of a checkpoint is not ours.
absl::Status RemoveFolder(const std::string& folder) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(folder));
  files->RemoveFolder(folder).IgnoreError();
  return absl::OkStatus();
}

}  // namespace

bool HasDiverged(const v1::Checkpoint& checkpoint) {
  // The run tells of it by its id alone.
  const std::string& name = checkpoint.name();
  return absl::StartsWith(absl::string_view(name).substr(name.rfind('/') + 1),
                          kDivergedCheckpoint);
}

std::string Checkpoints::FolderOf(const v1::Job& job) const {
  return kept() ? FolderBelow(root_, job) : "";
}

std::string Checkpoints::FolderBelow(absl::string_view root,
                                     const v1::Job& job) {
  // By uid: another job of the same name never meets old files.
  return absl::StrCat(absl::StripSuffix(root, "/"), "/", job.uid());
}

std::vector<std::string> Checkpoints::FallbacksOf(const v1::Job& job) const {
  std::vector<std::string> folders;
  folders.reserve(fallbacks_.size());
  for (const std::string& root : fallbacks_) {
    folders.push_back(FolderBelow(root, job));
  }
  return folders;
}

absl::StatusOr<std::vector<v1::Checkpoint>> Checkpoints::List(
    const JobEntry& entry) const {
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

absl::StatusOr<v1::Checkpoint> Checkpoints::Find(
    const JobEntry& entry, const CheckpointName& name) const {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            List(entry));
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.name() == name.Format()) return checkpoint;
  }
  return NotFound(kCheckpointType, name.Format());
}

absl::StatusOr<std::string> Checkpoints::Newest(const JobEntry& entry) const {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            List(entry));
  const v1::Checkpoint* diverged = nullptr;
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state() != v1::Checkpoint::READY) continue;
    if (!HasDiverged(checkpoint)) return checkpoint.name();
    if (diverged == nullptr) diverged = &checkpoint;
  }
  if (diverged == nullptr) {
    return WrongState(entry.job.name(),
                      "has no checkpoint to go on from: create a job anew");
  }
  return WrongState(
      entry.job.name(),
      absl::StrCat("has no checkpoint to go on from but ", diverged->name(),
                   ", whose weights have diverged: create a job anew, or name "
                   "that checkpoint"));
}

google::protobuf::Timestamp Checkpoints::NextTime(const JobEntry& entry) const {
  absl::Time next = absl::Now();
  const auto known = List(entry);
  if (known.ok() && !known->empty()) {
    const auto& [seconds, nanos] = CreatedAt(known->front());
    next = std::max(next, absl::FromUnixSeconds(seconds) +
                              absl::Nanoseconds(nanos) + absl::Microseconds(1));
  }
  return ToProto(next);
}

absl::Status Checkpoints::Begin(JobEntry& entry, const CheckpointName& name,
                                const v1::Checkpoint& checkpoint,
                                const std::string& folder, const Asked& asked) {
  book_->mu().AssertHeld();
  entry.unsaved.checkpoints.push_back({entry.job.uid(), checkpoint});
  const absl::Status stored = book_->Write(
      entry, entry.job, Durability::kStored, asked, checkpoint.name());
  if (!stored.ok()) {
    DropUnsaved(entry.unsaved, checkpoint.name());
    return stored;
  }
  const absl::Status begun =
      entry.active->WriteCheckpoint(name.checkpoint, folder);
  if (begun.ok()) return absl::OkStatus();
  entry.unsaved.deleted_checkpoints.push_back(checkpoint.name());
  if (!asked.request_id.empty()) {
    entry.unsaved.deleted_requests.push_back(
        {asked.identity, asked.request_id});
  }
  book_->Write(entry, entry.job, Durability::kRetried).IgnoreError();
  const absl::Status refused = WrongState(entry.job.name(), begun.message());
  if (!absl::IsUnavailable(begun)) return refused;
  return WithReason(refused, kCheckpointBeingWritten,
                    {{"resource", entry.job.name()}});
}

v1::Checkpoint Checkpoints::Note(JobEntry& entry, v1::Checkpoint checkpoint) {
  checkpoint.set_name(
      absl::StrCat(entry.job.name(), "/checkpoints/", checkpoint.name()));
  // Its time is that of its first appearance.
  *checkpoint.mutable_create_time() = NextTime(entry);
  const auto known = List(entry);
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

absl::Status Checkpoints::CheckRemovable(const JobEntry& entry,
                                         const v1::Checkpoint& checkpoint) {
  if (checkpoint.state() == v1::Checkpoint::WRITING) {
    return WrongState(checkpoint.name(),
                      "is being written: wait until it is READY");
  }
  if (checkpoint.state() == v1::Checkpoint::FAILED && entry.IsBeingSaved()) {
    return WrongState(checkpoint.name(),
                      "the job is being saved, and may be so under this name: "
                      "wait until it is, or cancel the job");
  }
  if (entry.Needs(checkpoint.name()) && !HasEnded(entry.job.state())) {
    return WrongState(checkpoint.name(),
                      "the job would go on from it: restore the job from "
                      "another one first");
  }
  return absl::OkStatus();
}

void Checkpoints::Prune(JobEntry& entry) {
  // While the store fails nothing is deleted: the next one that is ready does.
  if (!entry.unsaved.empty()) return;
  const auto checkpoints = List(entry);
  if (!checkpoints.ok()) return;
  const uint32_t wanted = entry.job.spec().checkpoints().keep();
  const uint32_t keep = wanted > 0 ? wanted : kDefaultCheckpointsKept;
  uint32_t ready = 0;
  uint32_t failed = 0;
  for (const v1::Checkpoint& checkpoint : *checkpoints) {
    if (entry.Needs(checkpoint.name())) continue;
    if (removing_.contains(checkpoint.name())) continue;
    if (!CheckRemovable(entry, checkpoint).ok()) continue;
    const bool old =
        (checkpoint.state() == v1::Checkpoint::READY && ++ready > keep) ||
        (checkpoint.state() == v1::Checkpoint::FAILED &&
         ++failed > kFailedKept);
    if (!old) continue;
    const absl::Status begun = BeginRemoval(entry, checkpoint).status();
    if (!begun.ok()) {
      LogWarning(absl::StrCat("could not remove ", checkpoint.name(), ": ",
                              begun.message()));
    }
  }
}

absl::StatusOr<std::shared_ptr<FolderTask>> Checkpoints::BeginRemoval(
    JobEntry& entry, v1::Checkpoint checkpoint) {
  const std::string name = checkpoint.name();
  std::shared_ptr<FolderTask>& removal = removing_[name];
  if (removal != nullptr &&
      removal->outcome().value_or(absl::OkStatus()).ok()) {
    return removal;
  }
  if (checkpoint.state() != v1::Checkpoint::FAILED) {
    // Whatever goes wrong from here on, what is READY is whole.
    checkpoint.set_state(v1::Checkpoint::FAILED);
    checkpoint.set_state_reason("it was being deleted");
  }
  // That it has failed may not be stored yet, either.
  const absl::Status stored =
      store_->PutCheckpoint(entry.job.uid(), checkpoint);
  if (!stored.ok()) {
    removing_.erase(name);
    return stored;
  }
  DropUnsaved(entry.unsaved, name);
  const std::string& directory = checkpoint.directory();
  removal = directory.empty()
                ? FolderTask::OfNothing()
                : FolderTask::Begin(*lanes_, LaneOf(directory), [directory] {
                    return RemoveFiles(directory);
                  });
  return removal;
}

absl::StatusOr<std::vector<std::shared_ptr<FolderTask>>>
Checkpoints::BeginRemovalOfAll(JobEntry& entry) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Checkpoint> checkpoints,
                            List(entry));
  std::set<std::string> folders;
  if (kept()) folders.insert(FolderOf(entry.job));
  for (const std::string& folder : FallbacksOf(entry.job)) {
    folders.insert(folder);
  }
  std::vector<std::shared_ptr<FolderTask>> removals;
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    // The job's, below a root that somebody has named.
    if (!checkpoint.directory().empty()) {
      folders.insert(paceline::FolderOf(checkpoint.directory()));
    }
    PACELINE_ASSIGN_OR_RETURN(removals.emplace_back(),
                              BeginRemoval(entry, checkpoint));
  }
  for (const std::string& folder : folders) {
    // On the same lane, so after what lies in it.
    removals.push_back(
        FolderTask::Begin(*lanes_, paceline::FolderOf(folder),
                          [folder] { return RemoveFolder(folder); }));
  }
  return removals;
}

absl::StatusOr<Checkpoints::Reading> Checkpoints::BeginReading(
    const v1::Checkpoint& checkpoint, const v1::ReadCheckpointRequest& wanted) {
  if (checkpoint.state() != v1::Checkpoint::READY) {
    return WrongState(checkpoint.name(), "can be read once it is READY");
  }
  std::erase_if(reading_, [](const std::weak_ptr<FolderTask>& it) {
    const auto task = it.lock();
    return task == nullptr || task->outcome().has_value();
  });
  if (reading_.size() >= kReadingMost) {
    return RetryLater(
        absl::UnavailableError(absl::StrCat(
            checkpoint.name(), ": ", reading_.size(),
            " others wait for the disk of a checkpoint: try again")),
        absl::Seconds(1));
  }
  const std::string& directory = checkpoint.directory();
  Reading reading;
  reading.part = std::make_shared<v1::ReadCheckpointResponse>();
  reading.task = FolderTask::Begin(*lanes_, LaneOf(directory),
                                   [directory, wanted, part = reading.part] {
                                     return ReadPart(directory, wanted, *part);
                                   });
  reading_.push_back(reading.task);
  return reading;
}

void Checkpoints::TakeRemoved() {
  book_->mu().AssertHeld();
  for (auto it = removing_.begin(); it != removing_.end();) {
    std::optional<absl::Status> removed = it->second->outcome();
    if (!removed.has_value()) {
      ++it;
      continue;
    }
    if (removed->ok()) removed = store_->DeleteCheckpoint(it->first);
    if (!removed->ok()) {
      // Its record stays, as FAILED: somebody deletes it again, or Prune().
      LogWarning(absl::StrCat("could not remove ", it->first, ": ",
                              removed->message()));
    }
    it = removing_.erase(it);
  }
}

void Checkpoints::RemoveUnfinished(const std::string& directory) {
  if (directory.empty()) return;
  const absl::Status put = lanes_->Put(LaneOf(directory), [directory] {
    const absl::Status removed = RemoveFiles(directory);
    if (!removed.ok()) LogWarning(removed.message());
  });
  if (!put.ok()) LogWarning(put.message());
}

absl::StatusOr<std::string> Checkpoints::Settle(const JobEntry& entry,
                                                absl::Time deadline,
                                                absl::string_view but) {
  std::string found;
  PACELINE_ASSIGN_OR_RETURN(std::vector<v1::Checkpoint> checkpoints,
                            List(entry));
  for (v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state() != v1::Checkpoint::WRITING) continue;
    if (checkpoint.name() == but) continue;
    const std::string& directory = checkpoint.directory();
    const auto manifest = std::make_shared<CheckpointManifest>();
    const auto reading = FolderTask::Begin(
        *lanes_, LaneOf(directory), [directory, manifest]() -> absl::Status {
          PACELINE_ASSIGN_OR_RETURN(*manifest, ReadManifest(directory));
          return absl::OkStatus();
        });
    const std::optional<absl::Status> read = reading->Await(deadline);
    checkpoint.set_state(v1::Checkpoint::FAILED);
    checkpoint.set_state_reason(
        "the coordinator has restarted while it was written");
    if (!read.has_value() || (!read->ok() && !absl::IsNotFound(*read))) {
      checkpoint.set_state_reason(absl::StrCat(
          checkpoint.state_reason(), ", and what is in ", directory,
          " was left: ",
          read.has_value() ? read->message() : "the folder does not answer"));
      LogWarning(
          absl::StrCat(checkpoint.name(), ": ", checkpoint.state_reason()));
    } else if (read->ok()) {
      // It was finished; only the word of it was lost.
      uint64_t bytes = 0;
      for (const CheckpointFile& file : manifest->files) bytes += file.bytes;
      checkpoint.set_state(v1::Checkpoint::READY);
      checkpoint.clear_state_reason();
      checkpoint.set_bytes(bytes);
      checkpoint.set_version_at_completion(manifest->version_at_completion);
      // Newest first.
      if (found.empty() && !HasDiverged(checkpoint)) found = checkpoint.name();
    } else {
      RemoveUnfinished(directory);
    }
    PACELINE_RETURN_IF_ERROR(
        store_->PutCheckpoint(entry.job.uid(), checkpoint));
  }
  return found;
}

}  // namespace paceline
