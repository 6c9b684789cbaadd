#include <algorithm>
#include <vector>

#include "common/status.h"
#include "services/cli/admin/list_all.h"
#include "services/cli/admin/member_commands.h"
#include "services/cli/admin/output/member_view.h"

namespace paceline {
namespace {

struct ServerListFlags : CommonFlags {};

absl::Status ListServers(Session& session) {
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(
      v1::ListServersResponse response,
      ListAll(*client, &ClusterApi::ListServers, v1::ListServersRequest(), 0,
              [](v1::ListServersResponse& page) {
                return page.mutable_servers();
              }));
  std::stable_sort(response.mutable_servers()->begin(),
                   response.mutable_servers()->end(),
                   [](const v1::Server& left, const v1::Server& right) {
                     return NaturalLess(left.name(), right.name());
                   });
  if (response.servers().empty() && (session.format() == OutputFormat::kTable ||
                                     session.format() == OutputFormat::kWide)) {
    session.Note("there are no parameter servers");
  }
  const std::vector<const v1::Server*> servers = Pointers(response.servers());
  return session.Print({.messages = {servers.begin(), servers.end()},
                        .whole = &response,
                        .table = [&](bool wide) {
                          return ServerTable(servers, wide,
                                             session.console().now());
                        }});
}

ExitCode RunList(Session& session, const ServerListFlags&) {
  return session.End(ListServers(session));
}

}  // namespace

void AddServerCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& server =
      *root.add_subcommand("server", "Parameter servers of the cluster");
  server.require_subcommand(1);
  AddCommand<ServerListFlags>(server, "list", "List parameter servers", chosen,
                              CommonChoice(), &RunList);
}

}  // namespace paceline
