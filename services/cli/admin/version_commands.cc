#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/json_fields.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

// A version is no reason to wait for a coordinator that is away.
constexpr char kVersionPatience[] = "3s";

struct VersionFlags : CommonFlags {
  bool client_only = false;
};

std::string VersionText(bool json) {
  if (!json) return absl::StrCat("paceline ", PACELINE_VERSION, "\n");
  Json document;
  document["client"]["version"] = PACELINE_VERSION;
  return absl::StrCat(document.dump(2), "\n");
}

absl::Status ShowVersion(Session& session, const VersionFlags& flags) {
  if (session.format() != OutputFormat::kTable &&
      session.format() != OutputFormat::kJson) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output \"", flags.output, "\": must be one of table, json"));
  }
  const bool json = session.format() == OutputFormat::kJson;
  std::string text = VersionText(json);
  if (!flags.client_only && !session.connection().address.empty()) {
    const absl::StatusOr<v1::Cluster> server =
        session.Call(&ClusterApi::GetCluster, v1::GetClusterRequest());
    if (absl::IsCancelled(server.status())) return server.status();
    if (!server.ok()) {
      session.Note(
          absl::StrCat("no server version: ", server.status().message()));
    } else if (json) {
      Json document = Json::parse(text);
      document["server"]["version"] = server->version();
      text = absl::StrCat(document.dump(2), "\n");
    } else {
      absl::StrAppend(&text, "coordinator ", OneLine(server->version()), "\n");
    }
  }
  return session.Write(text);
}

}  // namespace

void AddVersionCommand(CLI::App& root, ChosenCommand& chosen) {
  const auto version = AddCommand<VersionFlags>(
      root, "version", "Print the versions", chosen, &ShowVersion);
  version.app->add_flag("--client", version.flags->client_only,
                        "Print only the version of this program. Default: also "
                        "the coordinator's.");
  // The flag's own value wins.
  version.flags->connection.settings["request-timeout"] = kVersionPatience;
}

}  // namespace paceline
