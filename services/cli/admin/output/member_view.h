#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MEMBER_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MEMBER_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "services/cli/admin/output/table.h"

namespace paceline {

// Coordinators, workers, servers and the audit record as people see them. Pure.

Table CoordinatorTable(const std::vector<const v1::Coordinator*>& coordinators,
                       bool wide);

Table WorkerTable(const std::vector<const v1::Worker*>& workers, bool wide,
                  absl::Time now);

std::string DescribeWorker(const v1::Worker& worker, absl::Time now);

// "IDLE", with ",DRAINING" while it still has to leave.
std::string StateText(const v1::Worker& worker);

Table ServerTable(const std::vector<const v1::Server*>& servers, bool wide,
                  absl::Time now);

Table AuditTable(const std::vector<const v1::AuditRecord*>& records, bool wide);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MEMBER_VIEW_H_
