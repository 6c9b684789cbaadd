#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/table.h"
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

ExitCode RunVerify(Session& session, const VerifyFlags& flags) {
  const absl::Status known =
      CheckOneOf("--output", flags.output, {"table", "json"});
  if (!known.ok()) return session.End(known);
  return session.ForEach(flags.folders, [&](const std::string& folder) {
    return Verify(session, folder, flags.output == "json");
  });
}

ExitCode RunExport(Session& session, const ExportFlags& flags) {
  const absl::StatusOr<WrittenFile> written =
      ExportCheckpoint(flags.folder, flags.file);
  if (!written.ok()) return session.End(written.status());
  return session.End(
      session.Write(absl::StrCat(flags.file, ": ", BytesText(written->bytes),
                                 ", sha256 ", written->sha256, "\n")));
}

// Between two looks at a checkpoint that is being written.
constexpr absl::Duration kWriteInterval = absl::Milliseconds(300);

struct CheckpointCreateFlags : CommonFlags {
  std::string job;
  std::string id;
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

absl::Status PrintCheckpoints(
    Session& session, const std::vector<const v1::Checkpoint*>& checkpoints,
    const google::protobuf::Message* whole) {
  return session.Print({.messages = {checkpoints.begin(), checkpoints.end()},
                        .whole = whole,
                        .table = [&](bool wide) {
                          return CheckpointTable(checkpoints, wide,
                                                 session.console().now());
                        }});
}

absl::StatusOr<v1::Checkpoint> Get(Session& session, const std::string& name) {
  v1::GetCheckpointRequest request;
  request.set_name(name);
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  return client->Call(&JobsApi::GetCheckpoint, request);
}

absl::StatusOr<v1::Checkpoint> AwaitWritten(Session& session,
                                            v1::Checkpoint checkpoint) {
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  while (checkpoint.state() == v1::Checkpoint::WRITING) {
    PACELINE_RETURN_IF_ERROR(client->Pause(kWriteInterval));
    PACELINE_ASSIGN_OR_RETURN(checkpoint, Get(session, checkpoint.name()));
  }
  if (checkpoint.state() != v1::Checkpoint::FAILED) return checkpoint;
  return absl::UnknownError(
      absl::StrCat(Subject(checkpoint.name()),
                   " could not be written: ", checkpoint.state_reason()));
}

absl::Status Create(Session& session, const CheckpointCreateFlags& flags) {
  v1::CreateCheckpointRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            JobName(session.connection().space, flags.job));
  request.set_checkpoint_id(flags.id);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(v1::Checkpoint checkpoint,
                            client->Call(&JobsApi::CreateCheckpoint, request));
  if (flags.wait && !flags.dry_run) {
    PACELINE_ASSIGN_OR_RETURN(checkpoint,
                              AwaitWritten(session, std::move(checkpoint)));
  }
  const bool ready = checkpoint.state() == v1::Checkpoint::READY;
  return session.PrintChanged(
      checkpoint,
      absl::StrCat(Subject(checkpoint.name()), ready ? " ready" : " begun",
                   flags.dry_run ? " (dry run)" : ""));
}

ExitCode RunCreate(Session& session, const CheckpointCreateFlags& flags) {
  return session.End(Create(session, flags));
}

absl::Status List(Session& session, const CheckpointListFlags& flags) {
  v1::ListCheckpointsRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            JobName(session.connection().space, flags.job));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCheckpointsResponse response,
                            ListAll(*client, &JobsApi::ListCheckpoints, request,
                                    0, [](v1::ListCheckpointsResponse& page) {
                                      return page.mutable_checkpoints();
                                    }));
  if (response.checkpoints().empty() &&
      (session.format() == OutputFormat::kTable ||
       session.format() == OutputFormat::kWide)) {
    session.Note(absl::StrCat("job ", LastPart(request.parent()),
                              " has no checkpoints"));
  }
  return PrintCheckpoints(session, Pointers(response.checkpoints()), &response);
}

ExitCode RunList(Session& session, const CheckpointListFlags& flags) {
  return session.End(List(session, flags));
}

ExitCode RunGet(Session& session, const NamesFlags& flags) {
  std::vector<v1::Checkpoint> checkpoints;
  const ExitCode code =
      session.ForEach(flags.names, [&](const std::string& typed) {
        PACELINE_ASSIGN_OR_RETURN(
            const std::string name,
            CheckpointName(session.connection().space, "", typed));
        PACELINE_ASSIGN_OR_RETURN(v1::Checkpoint checkpoint,
                                  Get(session, name));
        checkpoints.push_back(std::move(checkpoint));
        return absl::OkStatus();
      });
  std::vector<const v1::Checkpoint*> found;
  found.reserve(checkpoints.size());
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    found.push_back(&checkpoint);
  }
  const ExitCode printed =
      found.empty() ? ExitCode::kSuccess
                    : session.End(PrintCheckpoints(session, found, nullptr));
  return code != ExitCode::kSuccess ? code : printed;
}

ExitCode RunDelete(Session& session, const NamesFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    v1::DeleteCheckpointRequest request;
    PACELINE_ASSIGN_OR_RETURN(
        *request.mutable_name(),
        CheckpointName(session.connection().space, "", typed));
    request.set_validate_only(flags.dry_run);
    if (!flags.dry_run) {
      PACELINE_RETURN_IF_ERROR(session.Confirm(absl::StrCat(
          "Delete checkpoint ", LastPart(request.name()), " of job ",
          JobIdOf(request.name()), " and its files?")));
    }
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    const absl::Status deleted =
        client->Call(&JobsApi::DeleteCheckpoint, request).status();
    if (absl::IsNotFound(deleted) && client->repeated() && !flags.dry_run) {
      // By the earlier try, or it has never been there: nobody can tell.
      return session.Write(
          absl::StrCat(Subject(request.name()), " is not there any more\n"));
    }
    PACELINE_RETURN_IF_ERROR(deleted);
    return session.Write(absl::StrCat(Subject(request.name()), " deleted",
                                      flags.dry_run ? " (dry run)" : "", "\n"));
  });
}

}  // namespace

void AddCheckpointFileCommands(CLI::App& checkpoint, ChosenCommand& chosen) {
  auto verify_flags = std::make_shared<VerifyFlags>();
  CLI::App* verify = checkpoint.add_subcommand(
      "verify", "Check checkpoints that lie in folders of this machine");
  verify->add_option("DIR", verify_flags->folders)->required();
  verify->add_option("-o,--output", verify_flags->output, "table or json");
  verify->callback([&chosen, verify_flags] {
    chosen.Choose([&chosen, verify_flags] {
      return RunVerify(chosen.session(), *verify_flags);
    });
  });

  auto export_flags = std::make_shared<ExportFlags>();
  CLI::App* exporting = checkpoint.add_subcommand(
      "export", "Write a checkpoint's model as one safetensors file");
  exporting->add_option("DIR", export_flags->folder)->required();
  exporting->add_option("-o,--out", export_flags->file, "The file to write")
      ->required();
  exporting->callback([&chosen, export_flags] {
    chosen.Choose([&chosen, export_flags] {
      return RunExport(chosen.session(), *export_flags);
    });
  });
}

void AddCheckpointCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& checkpoint =
      *root.add_subcommand("checkpoint", "Saved states of jobs");
  checkpoint.require_subcommand(1);

  const auto create = AddCommand<CheckpointCreateFlags>(
      checkpoint, "create", "Save a job that runs", chosen, CommonChoice(),
      &RunCreate);
  create.app->add_option("JOB", create.flags->job)->required();
  create.app->add_option("--name", create.flags->id,
                         "Of the checkpoint; default: drawn");
  create.app->add_flag("--wait", create.flags->wait, "Until it is ready");
  create.app->add_flag("--dry-run", create.flags->dry_run,
                       "Let the server check it, and do nothing");

  const auto list = AddCommand<CheckpointListFlags>(
      checkpoint, "list", "List a job's checkpoints", chosen, CommonChoice(),
      &RunList);
  list.app->add_option("JOB", list.flags->job)->required();

  const auto get =
      AddCommand<NamesFlags>(checkpoint, "get", "Show checkpoints by name",
                             chosen, CommonChoice(), &RunGet);
  get.app->add_option("CHECKPOINT", get.flags->names, "JOB/CHECKPOINT")
      ->required();

  const auto remove = AddCommand<NamesFlags>(
      checkpoint, "delete", "Delete checkpoints and their files", chosen,
      {.output = false, .yes = true}, &RunDelete);
  remove.app->add_option("CHECKPOINT", remove.flags->names, "JOB/CHECKPOINT")
      ->required();
  remove.app->add_flag("--dry-run", remove.flags->dry_run,
                       "Let the server check it, and do nothing");
  AddCheckpointFileCommands(checkpoint, chosen);
}

}  // namespace paceline
