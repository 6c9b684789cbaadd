#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/util/message_differencer.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/member_view.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

// Between two looks at a list that is watched.
constexpr absl::Duration kWorkersInterval = absl::Seconds(2);

struct WorkerNamesFlags : CommonFlags {
  std::vector<std::string> names;
};

struct WorkerListFlags : CommonFlags {
  std::string pool;
  bool watch = false;
};

absl::Status PrintWorkers(Session& session,
                          const std::vector<const v1::Worker*>& workers,
                          const google::protobuf::Message* whole,
                          bool headers) {
  return session.Print({.messages = {workers.begin(), workers.end()},
                        .whole = whole,
                        .table =
                            [&](bool wide) {
                              return WorkerTable(workers, wide,
                                                 session.console().now());
                            }},
                       headers);
}

// By name, "w2" before "w10", of that pool if one is given.
absl::StatusOr<v1::ListWorkersResponse> ListWorkers(
    Session& session, const WorkerListFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(
      v1::ListWorkersResponse response,
      ListAll(*client, &ClusterApi::ListWorkers, v1::ListWorkersRequest(), 0,
              [](v1::ListWorkersResponse& page) {
                return page.mutable_workers();
              }));
  auto& workers = *response.mutable_workers();
  const auto others = std::remove_if(
      workers.begin(), workers.end(), [&](const v1::Worker& worker) {
        return !flags.pool.empty() && worker.pool() != flags.pool;
      });
  workers.erase(others, workers.end());
  std::stable_sort(workers.begin(), workers.end(),
                   [](const v1::Worker& left, const v1::Worker& right) {
                     return NaturalLess(left.name(), right.name());
                   });
  return response;
}

absl::Status WatchWorkers(Session& session, const WorkerListFlags& flags) {
  std::map<std::string, v1::Worker> seen;
  bool headers = true;
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(const v1::ListWorkersResponse response,
                              ListWorkers(session, flags));
    std::vector<const v1::Worker*> changed;
    for (const v1::Worker& worker : response.workers()) {
      v1::Worker& last = seen[worker.name()];
      if (google::protobuf::util::MessageDifferencer::Equals(last, worker)) {
        continue;
      }
      last = worker;
      changed.push_back(&worker);
    }
    if (!changed.empty()) {
      PACELINE_RETURN_IF_ERROR(
          PrintWorkers(session, changed, nullptr, headers));
      headers = false;
    }
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    PACELINE_RETURN_IF_ERROR(client->Pause(kWorkersInterval));
  }
}

absl::Status PrintWorkerList(Session& session, const WorkerListFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const v1::ListWorkersResponse response,
                            ListWorkers(session, flags));
  if (response.workers().empty() && (session.format() == OutputFormat::kTable ||
                                     session.format() == OutputFormat::kWide)) {
    session.Note("there are no such workers");
  }
  return PrintWorkers(session, Pointers(response.workers()), &response, true);
}

ExitCode RunList(Session& session, const WorkerListFlags& flags) {
  return session.End(flags.watch ? WatchWorkers(session, flags)
                                 : PrintWorkerList(session, flags));
}

// GetWorker, DrainWorker and UndrainWorker are of one form.
template <class Request>
absl::StatusOr<v1::Worker> Ask(
    Session& session, const std::string& typed,
    void (ClusterApi::*method)(grpc::ClientContext*, const Request*,
                               v1::Worker*, grpc::ClientUnaryReactor*)) {
  Request request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), WorkerName(typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  return client->Call(method, request);
}

ExitCode RunGetWorkers(Session& session, const WorkerNamesFlags& flags) {
  std::vector<v1::Worker> workers;
  const ExitCode code =
      session.ForEach(flags.names, [&](const std::string& typed) {
        PACELINE_ASSIGN_OR_RETURN(
            v1::Worker worker,
            Ask<v1::GetWorkerRequest>(session, typed, &ClusterApi::GetWorker));
        workers.push_back(std::move(worker));
        return absl::OkStatus();
      });
  std::vector<const v1::Worker*> found;
  found.reserve(workers.size());
  for (const v1::Worker& worker : workers) found.push_back(&worker);
  const ExitCode printed =
      found.empty() ? ExitCode::kSuccess
                    : session.End(PrintWorkers(session, found, nullptr, true));
  return code != ExitCode::kSuccess ? code : printed;
}

ExitCode RunDescribe(Session& session, const WorkerNamesFlags& flags) {
  bool first = true;
  return session.ForEach(flags.names, [&](const std::string& typed) {
    PACELINE_ASSIGN_OR_RETURN(
        const v1::Worker worker,
        Ask<v1::GetWorkerRequest>(session, typed, &ClusterApi::GetWorker));
    return session.Write(
        absl::StrCat(std::exchange(first, false) ? "" : "\n",
                     DescribeWorker(worker, session.console().now())));
  });
}

ExitCode RunDrain(Session& session, const WorkerNamesFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    PACELINE_ASSIGN_OR_RETURN(
        const v1::Worker worker,
        Ask<v1::DrainWorkerRequest>(session, typed, &ClusterApi::DrainWorker));
    const bool done = worker.state() == v1::Worker::DRAINED;
    return session.PrintChanged(worker,
                                absl::StrCat("worker/", LastPart(worker.name()),
                                             done ? " drained" : " draining"));
  });
}

ExitCode RunUndrain(Session& session, const WorkerNamesFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    PACELINE_ASSIGN_OR_RETURN(const v1::Worker worker,
                              Ask<v1::UndrainWorkerRequest>(
                                  session, typed, &ClusterApi::UndrainWorker));
    return session.PrintChanged(
        worker, absl::StrCat("worker/", LastPart(worker.name()), " undrained"));
  });
}

struct AuditFlags : CommonFlags {
  int64_t limit = 100;
};

absl::Status ListAudit(Session& session, const AuditFlags& flags) {
  if (flags.limit < 0) {
    return absl::InvalidArgumentError("--limit: must not be negative");
  }
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::ListAuditRecordsResponse response,
                            ListAll(*client, &ClusterApi::ListAuditRecords,
                                    v1::ListAuditRecordsRequest(), flags.limit,
                                    [](v1::ListAuditRecordsResponse& page) {
                                      return page.mutable_audit_records();
                                    }));
  const std::vector<const v1::AuditRecord*> records =
      Pointers(response.audit_records());
  return session.Print(
      {.messages = {records.begin(), records.end()},
       .whole = &response,
       .table = [&](bool wide) { return AuditTable(records, wide); }});
}

ExitCode RunList(Session& session, const AuditFlags& flags) {
  return session.End(ListAudit(session, flags));
}

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

void AddWorkerCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& worker =
      *root.add_subcommand("worker", "Workers and evaluators of the cluster");
  worker.require_subcommand(1);
  const auto list = AddCommand<WorkerListFlags>(
      worker, "list", "List workers", chosen, CommonChoice(), &RunList);
  list.app->add_option("--pool", list.flags->pool, "Of this pool alone");
  list.app->add_flag("-w,--watch", list.flags->watch,
                     "Go on with a line for every change");
  const auto add = [&](const char* name, const char* help, CommonChoice choice,
                       ExitCode (*run)(Session&, const WorkerNamesFlags&)) {
    const auto command =
        AddCommand<WorkerNamesFlags>(worker, name, help, chosen, choice, run);
    command.app->add_option("WORKER", command.flags->names)->required();
  };
  add("get", "Show workers by name", CommonChoice(), &RunGetWorkers);
  add("describe", "Show everything about a worker", {.output = false},
      &RunDescribe);
  add("drain", "Let workers finish, and give them no more jobs", CommonChoice(),
      &RunDrain);
  add("undrain", "Take drained workers back", CommonChoice(), &RunUndrain);
}

void AddAuditCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& audit = *root.add_subcommand("audit", "The record of who did what");
  audit.require_subcommand(1);
  const auto list =
      AddCommand<AuditFlags>(audit, "list", "List records, the newest first",
                             chosen, CommonChoice(), &RunList);
  list.app->add_option("--limit", list.flags->limit, "At most so many; 0: all")
      ->capture_default_str();
}

void AddServerCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& server =
      *root.add_subcommand("server", "Parameter servers of the cluster");
  server.require_subcommand(1);
  AddCommand<ServerListFlags>(server, "list", "List parameter servers", chosen,
                              CommonChoice(), &RunList);
}

}  // namespace paceline
