#include "tests/integration/access/access_table.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

constexpr AccessRow kTable[] = {
    {"/paceline.v1.ClusterService/GetCluster", "admin server viewer worker",
     ServedBy::kCoordinator, "OK", v1::OWN_PART},
    {"/paceline.v1.ClusterService/ListWorkers", "admin viewer",
     ServedBy::kCoordinator, "OK", v1::OWN_PART},
    {"/paceline.v1.ClusterService/GetWorker", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::OWN_PART},
    {"/paceline.v1.ClusterService/DrainWorker", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/UndrainWorker", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/DrainServer", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/UndrainServer", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/ListServers", "admin viewer",
     ServedBy::kCoordinator, "OK", v1::OWN_PART},
    {"/paceline.v1.ClusterService/ReadWorkerLog", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/ReadServerLog", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT"},
    {"/paceline.v1.ClusterService/ListAuditRecords", "admin",
     ServedBy::kCoordinator, "OK", v1::OWN_PART},
    {"/paceline.v1.CoordinatorService/ListCoordinators", "admin viewer",
     ServedBy::kCoordinator, "OK", v1::OWN_PART},
    {"/paceline.v1.CoordinatorService/PromoteCoordinator", "admin",
     ServedBy::kCoordinator, "FAILED_PRECONDITION"},
    {"/paceline.v1.Standby/Follow", "coordinator", ServedBy::kCoordinator,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.Fleet/Worker", "worker", ServedBy::kCoordinator,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.Fleet/Server", "server", ServedBy::kCoordinator,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.JobService/CreateJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/GetJob", "admin viewer", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ListJobs", "admin viewer", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::OWN_PART},
    {"/paceline.v1.JobService/UpdateJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/DeleteJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/PauseJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ResumeJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/CancelJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/SwitchParadigm", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/RestoreJob", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/WatchJob", "admin viewer", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ListDecisions", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ListAccuracyPoints", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ListIterations", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/GetJobReport", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/CreateCheckpoint", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/GetCheckpoint", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ListCheckpoints", "admin viewer",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/ReadCheckpoint", "admin", ServedBy::kCoordinator,
     "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.JobService/DeleteCheckpoint", "admin",
     ServedBy::kCoordinator, "INVALID_ARGUMENT", v1::ONE_NAMESPACE},
    {"/paceline.v1.Parameters/Exchange", "worker", ServedBy::kParameterServer,
     "INVALID_ARGUMENT"},
    {"/paceline.v1.Replication/Follow", "server", ServedBy::kParameterServer,
     "INVALID_ARGUMENT"},
    // They say whether the process serves and what its API looks like.
    {"/grpc.health.v1.Health/Check", kEverybody, ServedBy::kBoth, "OK"},
    {"/grpc.health.v1.Health/Watch", kEverybody, ServedBy::kBoth, "OK"},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
     kEverybody, ServedBy::kReflectingCoordinator, "OK"},
};

}  // namespace

absl::Span<const AccessRow> AccessTable() { return kTable; }

std::vector<std::string> DifferencesOf(absl::Span<const AccessRow> table,
                                       absl::Span<const ApiMethod> methods) {
  std::vector<std::string> differences;
  std::map<std::string, const AccessRow*> rows;
  for (const AccessRow& row : table) {
    if (absl::StartsWith(row.method, "/grpc.")) continue;
    if (!rows.emplace(row.method, &row).second) {
      differences.push_back(absl::StrCat(row.method, ": has two rows"));
    }
  }
  for (const ApiMethod& method : methods) {
    const auto row = rows.find(method.name);
    if (row == rows.end()) {
      differences.push_back(absl::StrCat(
          method.name, ": has no row; its proto allows ", method.roles));
      continue;
    }
    if (method.roles != row->second->roles) {
      differences.push_back(absl::StrCat(method.name, ": its proto allows ",
                                         method.roles, ", the table ",
                                         row->second->roles));
    }
    if (method.reach != v1::Reach_Name(row->second->reach)) {
      differences.push_back(absl::StrCat(method.name, ": its proto reaches ",
                                         method.reach, ", the table ",
                                         v1::Reach_Name(row->second->reach)));
    }
    rows.erase(row);
  }
  for (const auto& [name, row] : rows) {
    differences.push_back(absl::StrCat(name, ": is in no proto"));
  }
  return differences;
}

}  // namespace paceline
