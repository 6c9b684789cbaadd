#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/member_view.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

struct WorkerNamesFlags : CommonFlags {
  std::vector<std::string> names;
};

struct WorkerListFlags : CommonFlags {
  std::string pool;
  bool watch = false;
};

// Sorts by name, "w2" before "w10".
template <class Resource>
void SortByName(google::protobuf::RepeatedPtrField<Resource>* resources) {
  std::stable_sort(resources->begin(), resources->end(),
                   [](const Resource& left, const Resource& right) {
                     return NaturalLess(left.name(), right.name());
                   });
}

// Of that pool if one is given.
absl::StatusOr<v1::ListWorkersResponse> SortedWorkers(
    Session& session, const WorkerListFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::ListWorkersResponse response,
      session.List(&ClusterApi::ListWorkers, v1::ListWorkersRequest()));
  auto& workers = *response.mutable_workers();
  const auto others = std::remove_if(
      workers.begin(), workers.end(), [&](const v1::Worker& worker) {
        return !flags.pool.empty() && worker.pool() != flags.pool;
      });
  workers.erase(others, workers.end());
  SortByName(&workers);
  return response;
}

absl::Status ListWorkers(Session& session, const WorkerListFlags& flags) {
  if (flags.watch) {
    return WatchChanges(
        session, [&] { return SortedWorkers(session, flags); },
        [&](const std::vector<const v1::Worker*>& changed, bool headers) {
          return session.PrintAll(changed, nullptr, &WorkerTable, headers);
        });
  }
  PACELINE_ASSIGN_OR_RETURN(const v1::ListWorkersResponse response,
                            SortedWorkers(session, flags));
  if (response.workers().empty() && session.tabular()) {
    session.Note("there are no such workers");
  }
  return session.PrintAll(Pointers(response.workers()), &response,
                          &WorkerTable);
}

// GetWorker, DrainWorker and UndrainWorker are of one form.
template <class Request>
absl::StatusOr<v1::Worker> Ask(
    Session& session, const std::string& typed,
    UnaryMethod<ClusterApi, Request, v1::Worker> method) {
  Request request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), WorkerName(typed));
  return session.Call(method, request);
}

ExitCode GetWorkers(Session& session, const WorkerNamesFlags& flags) {
  return PrintEach(
      session, flags.names,
      [&](const std::string& typed) {
        return Ask(session, typed, &ClusterApi::GetWorker);
      },
      [&](const std::vector<const v1::Worker*>& workers) {
        return session.PrintAll(workers, nullptr, &WorkerTable);
      });
}

ExitCode DescribeWorkers(Session& session, const WorkerNamesFlags& flags) {
  bool first = true;
  return session.ForEach(flags.names, [&](const std::string& typed) {
    PACELINE_ASSIGN_OR_RETURN(const v1::Worker worker,
                              Ask(session, typed, &ClusterApi::GetWorker));
    return session.Write(
        absl::StrCat(std::exchange(first, false) ? "" : "\n",
                     DescribeWorker(worker, session.console().now())));
  });
}

absl::Status DrainWorker(Session& session, const WorkerNamesFlags& /*flags*/,
                         const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const v1::Worker worker,
                            Ask(session, typed, &ClusterApi::DrainWorker));
  const bool done = worker.state() == v1::Worker::DRAINED;
  return session.PrintChanged(worker,
                              absl::StrCat("worker/", LastPart(worker.name()),
                                           done ? " drained" : " draining"));
}

absl::Status UndrainWorker(Session& session, const WorkerNamesFlags& /*flags*/,
                           const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const v1::Worker worker,
                            Ask(session, typed, &ClusterApi::UndrainWorker));
  return session.PrintChanged(
      worker, absl::StrCat("worker/", LastPart(worker.name()), " undrained"));
}

struct AuditFlags : CommonFlags {
  int64_t limit = 100;
};

absl::Status ListAudit(Session& session, const AuditFlags& flags) {
  if (flags.limit < 0) {
    return absl::InvalidArgumentError("--limit: must not be negative");
  }
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListAuditRecordsResponse response,
      session.List(&ClusterApi::ListAuditRecords, v1::ListAuditRecordsRequest(),
                   flags.limit));
  return session.PrintAll(
      Pointers(response.audit_records()), &response,
      [](const auto& records, bool wide, absl::Time /*now*/) {
        return AuditTable(records, wide);
      });
}

absl::Status ListServers(Session& session, const CommonFlags& /*flags*/) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::ListServersResponse response,
      session.List(&ClusterApi::ListServers, v1::ListServersRequest()));
  SortByName(response.mutable_servers());
  if (response.servers().empty() && session.tabular()) {
    session.Note("there are no parameter servers");
  }
  return session.PrintAll(Pointers(response.servers()), &response,
                          &ServerTable);
}

struct ServerNamesFlags : CommonFlags {
  std::vector<std::string> names;
};

// DrainServer and UndrainServer are of one form.
template <class Request>
absl::Status ChangeServer(Session& session, const std::string& typed,
                          UnaryMethod<ClusterApi, Request, v1::Server> method,
                          absl::string_view done) {
  Request request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), ServerName(typed));
  PACELINE_ASSIGN_OR_RETURN(const v1::Server server,
                            session.Call(method, request));
  return session.PrintChanged(
      server,
      absl::StrCat(
          "server/", LastPart(server.name()), " ",
          server.draining() && server.shards().empty() ? "drained" : done));
}

absl::Status DrainServer(Session& session, const ServerNamesFlags& /*flags*/,
                         const std::string& typed) {
  return ChangeServer<v1::DrainServerRequest>(
      session, typed, &ClusterApi::DrainServer, "draining");
}

absl::Status UndrainServer(Session& session, const ServerNamesFlags& /*flags*/,
                           const std::string& typed) {
  return ChangeServer<v1::UndrainServerRequest>(
      session, typed, &ClusterApi::UndrainServer, "undrained");
}

}  // namespace

void AddWorkerCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& worker =
      *root.add_subcommand("worker", "Workers and evaluators of the cluster");
  worker.require_subcommand(1);
  const auto list = AddCommand<WorkerListFlags>(worker, "list", "List workers",
                                                chosen, &ListWorkers);
  list.app
      ->add_option("--pool", list.flags->pool,
                   "List only workers of this pool. Default: all.")
      ->type_name("POOL");
  list.app->add_flag("-w,--watch", list.flags->watch,
                     "Go on with a line for every change, until you end it.");
  const auto add = [&](const char* name, const char* help, auto run,
                       const CommonChoice& choice = {}) {
    const auto command =
        AddCommand<WorkerNamesFlags>(worker, name, help, chosen, run, choice);
    command.app
        ->add_option("WORKER", command.flags->names,
                     "The worker or evaluator: NAME or workers/NAME.")
        ->type_name("")
        ->required();
  };
  add("get", "Show workers by name", &GetWorkers);
  add("describe", "Show everything about a worker", &DescribeWorkers,
      {.output = false});
  add("drain", "Let workers finish, and give them no more jobs", &DrainWorker);
  add("undrain", "Take drained workers back", &UndrainWorker);
  AddWorkerLogsCommand(worker, chosen);
  AddManifestCommand(worker, chosen);
}

void AddAuditCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& audit = *root.add_subcommand("audit", "The record of who did what");
  audit.require_subcommand(1);
  const auto list = AddCommand<AuditFlags>(
      audit, "list", "List records, the newest first", chosen, &ListAudit);
  list.app
      ->add_option("--limit", list.flags->limit,
                   "List at most so many records. 0: all.")
      ->type_name("N")
      ->capture_default_str();
}

void AddServerCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& server =
      *root.add_subcommand("server", "Parameter servers of the cluster");
  server.require_subcommand(1);
  AddCommand<CommonFlags>(server, "list", "List parameter servers", chosen,
                          &ListServers);
  const auto add = [&](const char* name, const char* help, auto run) {
    const auto command =
        AddCommand<ServerNamesFlags>(server, name, help, chosen, run);
    command.app
        ->add_option("SERVER", command.flags->names,
                     "The parameter server: NAME or servers/NAME.")
        ->type_name("")
        ->required();
  };
  add("drain", "Move what servers have to others, and give them no more jobs",
      &DrainServer);
  add("undrain", "Take drained servers back", &UndrainServer);
  AddServerLogsCommand(server, chosen);
}

}  // namespace paceline
