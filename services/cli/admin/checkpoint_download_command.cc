#include <functional>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/byte_stream.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

struct DownloadFlags : CommonFlags {
  std::string checkpoint;  // Or a job, whose newest is meant.
  std::string folder;
};

absl::StatusOr<std::string> NewestReady(Session& session,
                                        const std::string& job) {
  v1::ListCheckpointsRequest request;
  request.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCheckpointsResponse response,
                            session.List(&JobsApi::ListCheckpoints, request));
  for (const v1::Checkpoint& checkpoint : response.checkpoints()) {
    if (checkpoint.state() == v1::Checkpoint::READY) return checkpoint.name();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", LastPart(job),
      " has no checkpoint that is READY; "
      "`paceline checkpoint create` makes one of a job that runs"));
}

absl::StatusOr<std::string> Named(Session& session, const std::string& typed) {
  const std::string& space = session.connection().space;
  const bool whole = absl::StrContains(typed, "/checkpoints/");
  const bool of_job =
      absl::StrContains(typed, '/') && !absl::StrContains(typed, "/jobs/");
  if (whole || of_job) return CheckpointName(space, "", typed);
  PACELINE_ASSIGN_OR_RETURN(const std::string job, JobName(space, typed));
  return NewestReady(session, job);
}

// Hands the parts of a file to `take`, in order.
absl::Status ReadParts(
    Session& session, const std::string& checkpoint, absl::string_view file,
    const std::function<absl::Status(absl::string_view)>& take) {
  v1::ReadCheckpointRequest request;
  request.set_name(checkpoint);
  request.set_file(std::string(file));
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const v1::ReadCheckpointResponse part,
                              session.Call(&JobsApi::ReadCheckpoint, request));
    PACELINE_RETURN_IF_ERROR(take(part.data()));
    request.set_offset(request.offset() +
                       static_cast<int64_t>(part.data().size()));
    if (part.data().empty() || request.offset() >= part.file_bytes()) {
      return absl::OkStatus();
    }
  }
}

absl::Status DownloadFile(Session& session, const std::string& checkpoint,
                          const std::string& folder,
                          const CheckpointFile& file) {
  const auto never = [] { return false; };
  // An earlier download that was cut off had come so far.
  if (OpenCheckpointFile(folder, file, never).ok()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSink> local,
                            CreateAt(PathIn(folder, file.name), file.bytes));
  PACELINE_RETURN_IF_ERROR(ReadParts(
      session, checkpoint, file.name,
      [&local](absl::string_view part) { return local->Write(part); }));
  PACELINE_ASSIGN_OR_RETURN(const WrittenFile written, local->Commit());
  if (written.bytes == file.bytes && written.sha256 == file.sha256) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(file.name, " is not what was saved: its ", written.bytes,
                   " bytes have another SHA-256 than the manifest says, or are "
                   "not ",
                   file.bytes,
                   "; `paceline checkpoint verify` looks at "
                   "the folder on the cluster"));
}

absl::Status Download(Session& session, const DownloadFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            Named(session, flags.checkpoint));
  const std::string folder =
      flags.folder.empty() ? absl::StrCat(JobIdOf(name), "-", LastPart(name))
                           : flags.folder;
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(folder));
  if (files->Open(PathIn(folder, kManifestName)).ok()) {
    return absl::AlreadyExistsError(
        absl::StrCat(folder,
                     " has a checkpoint already: name another folder "
                     "with --to"));
  }
  std::string text;
  PACELINE_RETURN_IF_ERROR(
      ReadParts(session, name, kManifestName, [&text](absl::string_view part) {
        text.append(part.data(), part.size());
        return absl::OkStatus();
      }));
  PACELINE_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                            ParseManifest(text));
  PACELINE_RETURN_IF_ERROR(files->MakeFolder(folder));
  uint64_t bytes = 0;
  for (const CheckpointFile& file : manifest.files) {
    PACELINE_RETURN_IF_ERROR(DownloadFile(session, name, folder, file));
    bytes += file.bytes;
  }
  // What has a manifest is complete.
  PACELINE_RETURN_IF_ERROR(WriteManifest(folder, manifest));
  return session.Write(absl::StrCat(
      folder, ": checkpoint ", LastPart(name), " of job ", JobIdOf(name), ", ",
      manifest.samples, " samples, ", manifest.files.size(),
      manifest.files.size() == 1 ? " file, " : " files, ", BytesText(bytes),
      "\n"));
}

}  // namespace

void AddCheckpointDownloadCommand(CLI::App& checkpoint, ChosenCommand& chosen) {
  const auto [app, flags] = AddCommand<DownloadFlags>(
      checkpoint, "download", "Copy a checkpoint to this machine", chosen,
      &Download, {.output = false});
  app->add_option("CHECKPOINT", flags->checkpoint,
                  "The checkpoint, as JOB/CHECKPOINT. JOB alone: its newest "
                  "one that is ready.")
      ->type_name("")
      ->required();
  app->add_option("--to", flags->folder,
                  "The folder or s3://BUCKET/PREFIX to write. Default: "
                  "JOB-CHECKPOINT here.")
      ->type_name("DIR");
  app->footer(
      "\nA download that was cut off goes on with the files that are missing, "
      "when it is\ncalled again.\n\n"
      "Examples:\n"
      "  paceline checkpoint download mnist --to mnist-weights\n"
      "  paceline checkpoint export mnist-weights --out mnist.safetensors");
}

}  // namespace paceline
