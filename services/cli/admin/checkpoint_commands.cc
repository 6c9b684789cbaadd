#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/model_metadata.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/request_id.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/flag_values.h"
#include "services/cli/json_fields.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

// Checkpoints as folders on this machine: no coordinator is asked.

struct VerifyFlags {
  std::vector<std::string> folders;
  std::string output = "table";
};

struct ExportFlags {
  std::string folder;
  std::string file;
};

absl::Status WriteJson(Session& session, const std::string& folder,
                       const CheckpointReport& report) {
  Json document;
  document["directory"] = folder;
  document["job"] = report.manifest.job;
  document["version"] = report.manifest.version;
  document["samples"] = report.manifest.samples;
  document["files"] = report.manifest.files.size();
  document["bytes"] = report.bytes;
  document["problems"] = report.problems;
  return session.Write(absl::StrCat(
      document.dump(2, ' ', false, Json::error_handler_t::replace), "\n"));
}

absl::Status Verify(Session& session, const std::string& folder, bool json) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointReport report,
                            VerifyCheckpoint(folder));
  if (json) {
    PACELINE_RETURN_IF_ERROR(WriteJson(session, folder, report));
  } else if (report.problems.empty()) {
    PACELINE_RETURN_IF_ERROR(session.Write(absl::StrCat(
        folder, ": whole: ", OneLine(report.manifest.job), ", version ",
        report.manifest.version, ", ", report.manifest.samples, " samples, ",
        report.manifest.files.size(), " files, ", BytesText(report.bytes),
        "\n")));
  }
  for (const std::string& problem : report.problems) {
    session.Note(absl::StrCat(folder, ": ", problem));
  }
  if (report.problems.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(folder, ": cannot be restored: ", report.problems.size(),
                   " things are wrong with it"));
}

ExitCode VerifyFolders(Session& session, const VerifyFlags& flags) {
  const absl::Status known =
      CheckOneOf("--output", flags.output, {"table", "json"});
  if (!known.ok()) return session.End(known);
  return session.ForEach(flags.folders, [&](const std::string& folder) {
    return Verify(session, folder, flags.output == "json");
  });
}

absl::Status ExportFolder(Session& session, const ExportFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const CheckpointManifest manifest,
                            ReadManifest(flags.folder));
  PACELINE_ASSIGN_OR_RETURN(
      const WrittenFile written,
      ExportCheckpoint(flags.folder, flags.file, ModelMetadata(manifest)));
  return session.Write(absl::StrCat(flags.file, ": ", BytesText(written.bytes),
                                    ", sha256 ", written.sha256, "\n"));
}

// Between two looks at a checkpoint that is being written.
constexpr absl::Duration kWriteInterval = absl::Milliseconds(300);

struct CheckpointCreateFlags : CommonFlags {
  std::string job;
  std::string id;
  std::string directory;
  bool wait = false;
  bool dry_run = false;
};

struct CheckpointListFlags : CommonFlags {
  std::string job;
};

struct NamesFlags : CommonFlags {
  std::vector<std::string> names;
  bool dry_run = false;
};

std::string Subject(absl::string_view name) {
  return absl::StrCat("checkpoint/", JobIdOf(name), "/", LastPart(name));
}

absl::StatusOr<v1::Checkpoint> GetCheckpoint(Session& session,
                                             const std::string& name) {
  v1::GetCheckpointRequest request;
  request.set_name(name);
  return session.Call(&JobsApi::GetCheckpoint, request);
}

absl::StatusOr<v1::Checkpoint> AwaitWritten(Session& session,
                                            v1::Checkpoint checkpoint) {
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  while (checkpoint.state() == v1::Checkpoint::WRITING) {
    PACELINE_RETURN_IF_ERROR(client->Pause(kWriteInterval));
    PACELINE_ASSIGN_OR_RETURN(checkpoint,
                              GetCheckpoint(session, checkpoint.name()));
  }
  if (checkpoint.state() != v1::Checkpoint::FAILED) return checkpoint;
  return absl::UnknownError(
      absl::StrCat(Subject(checkpoint.name()),
                   " could not be written: ", checkpoint.state_reason()));
}

// Begins it. While another one is being written, maybe one of the job's own
// interval, it is not refused but waits, if `wait`.
absl::StatusOr<v1::Checkpoint> BeginToWrite(
    Session& session, const v1::CreateCheckpointRequest& request, bool wait) {
  bool noted = false;
  while (true) {
    absl::StatusOr<v1::Checkpoint> begun =
        session.Call(&JobsApi::CreateCheckpoint, request);
    if (!wait || ReasonOf(begun.status()) != kCheckpointBeingWritten) {
      return begun;
    }
    if (!std::exchange(noted, true)) {
      session.Note("another checkpoint of the job is being written; waiting");
    }
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    PACELINE_RETURN_IF_ERROR(client->Pause(kWriteInterval));
  }
}

absl::Status CreateCheckpoint(Session& session,
                              const CheckpointCreateFlags& flags) {
  v1::CreateCheckpointRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            session.JobName(flags.job));
  request.set_checkpoint_id(flags.id);
  request.set_directory(flags.directory);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  PACELINE_ASSIGN_OR_RETURN(v1::Checkpoint checkpoint,
                            BeginToWrite(session, request, flags.wait));
  if (flags.wait && !flags.dry_run) {
    PACELINE_ASSIGN_OR_RETURN(checkpoint,
                              AwaitWritten(session, std::move(checkpoint)));
  }
  const bool ready = checkpoint.state() == v1::Checkpoint::READY;
  return session.PrintChanged(
      checkpoint,
      absl::StrCat(Subject(checkpoint.name()), ready ? " ready" : " begun",
                   DryRunMark(flags.dry_run)));
}

absl::Status ListCheckpoints(Session& session,
                             const CheckpointListFlags& flags) {
  v1::ListCheckpointsRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCheckpointsResponse response,
                            session.List(&JobsApi::ListCheckpoints, request));
  if (response.checkpoints().empty() && session.tabular()) {
    session.Note(absl::StrCat("job ", LastPart(request.parent()),
                              " has no checkpoints"));
  }
  return session.PrintAll(Pointers(response.checkpoints()), &response,
                          &CheckpointTable);
}

ExitCode GetCheckpoints(Session& session, const NamesFlags& flags) {
  return PrintEach(
      session, flags.names,
      [&](const std::string& typed) -> absl::StatusOr<v1::Checkpoint> {
        PACELINE_ASSIGN_OR_RETURN(
            const std::string name,
            CheckpointName(session.connection().space, "", typed));
        return GetCheckpoint(session, name);
      },
      [&](const std::vector<const v1::Checkpoint*>& checkpoints) {
        return session.PrintAll(checkpoints, nullptr, &CheckpointTable);
      });
}

absl::Status DeleteCheckpoint(Session& session, const NamesFlags& flags,
                              const std::string& typed) {
  v1::DeleteCheckpointRequest request;
  PACELINE_ASSIGN_OR_RETURN(
      *request.mutable_name(),
      CheckpointName(session.connection().space, "", typed));
  request.set_validate_only(flags.dry_run);
  if (!flags.dry_run) {
    PACELINE_RETURN_IF_ERROR(session.Confirm(
        absl::StrCat("Delete checkpoint ", LastPart(request.name()), " of job ",
                     JobIdOf(request.name()), " and its files?")));
  }
  return session.Delete(&JobsApi::DeleteCheckpoint, request,
                        Subject(request.name()));
}

// Commands that look at folders and ask no coordinator.
void AddFolderCommands(CLI::App& checkpoint, ChosenCommand& chosen) {
  const auto verify = AddPlainCommand<VerifyFlags>(
      checkpoint, "verify",
      "Check checkpoints in folders of this machine or in buckets", chosen,
      &VerifyFolders);
  verify.app
      ->add_option("DIR", verify.flags->folders,
                   "The folder of a checkpoint on this machine, or "
                   "s3://BUCKET/PREFIX.")
      ->type_name("")
      ->required();
  verify.app
      ->add_option("-o,--output", verify.flags->output,
                   "Form of the output: table or json.")
      ->type_name("FORMAT")
      ->capture_default_str();

  const auto exporting = AddPlainCommand<ExportFlags>(
      checkpoint, "export",
      "Write a checkpoint's model as one safetensors file", chosen,
      &ExportFolder);
  exporting.app
      ->add_option("DIR", exporting.flags->folder,
                   "The folder of a checkpoint on this machine, or "
                   "s3://BUCKET/PREFIX.")
      ->type_name("")
      ->required();
  exporting.app
      ->add_option("-o,--out", exporting.flags->file,
                   "The .safetensors file to write.")
      ->type_name("FILE")
      ->required();
}

}  // namespace

void AddCheckpointCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& checkpoint =
      *root.add_subcommand("checkpoint", "Saved states of jobs");
  checkpoint.require_subcommand(1);

  const auto create = AddCommand<CheckpointCreateFlags>(
      checkpoint, "create", "Save a job that runs", chosen, &CreateCheckpoint);
  AddJobPositional(*create.app, create.flags->job);
  create.app
      ->add_option("--name", create.flags->id,
                   "The name of the new checkpoint. Default: one that is "
                   "drawn.")
      ->type_name("CHECKPOINT");
  create.app
      ->add_option("--directory", create.flags->directory,
                   "An absolute path that coordinator and servers share, or "
                   "s3://BUCKET/PREFIX. It saves a job whose own folder is "
                   "full. "
                   "Default: where the cluster keeps its checkpoints.")
      ->type_name("DIR");
  create.app->add_flag(
      "--wait", create.flags->wait,
      "Wait until the checkpoint is ready, and first for another "
      "one that is being written. Default: only "
      "begin it.");
  AddDryRunFlag(*create.app, create.flags->dry_run);

  const auto list = AddCommand<CheckpointListFlags>(
      checkpoint, "list", "List a job's checkpoints", chosen, &ListCheckpoints);
  AddJobPositional(*list.app, list.flags->job);

  const auto get = AddCommand<NamesFlags>(
      checkpoint, "get", "Show checkpoints by name", chosen, &GetCheckpoints);
  AddCheckpointPositional(*get.app, get.flags->names);

  const auto remove = AddCommand<NamesFlags>(
      checkpoint, "delete", "Delete checkpoints and their files", chosen,
      &DeleteCheckpoint, {.output = false, .yes = true});
  AddCheckpointPositional(*remove.app, remove.flags->names);
  AddDryRunFlag(*remove.app, remove.flags->dry_run);

  AddCheckpointDownloadCommand(checkpoint, chosen);
  AddFolderCommands(checkpoint, chosen);
}

}  // namespace paceline
