#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/export_checkpoint.h"
#include "common/checkpoint/verify_checkpoint.h"
#include "common/status.h"
#include "services/cli/admin/checkpoint_commands.h"
#include "services/cli/admin/output/short_age.h"
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

}  // namespace paceline
