#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_VISIBLE_PART_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_VISIBLE_PART_H_

#include "absl/status/statusor.h"
#include "common/security/namespaces.h"
#include "protos/paceline/v1/cluster.pb.h"

namespace paceline {

// What a caller may see of the cluster's members, which serve all namespaces:
// everything, but for what tells of jobs in namespaces that are not the
// caller's, and of their folders. An error stays as it is. Pure.
absl::StatusOr<v1::Worker> VisibleTo(const Namespaces& namespaces,
                                     absl::StatusOr<v1::Worker> worker);
absl::StatusOr<v1::ListWorkersResponse> VisibleTo(
    const Namespaces& namespaces,
    absl::StatusOr<v1::ListWorkersResponse> workers);
absl::StatusOr<v1::ListServersResponse> VisibleTo(
    const Namespaces& namespaces,
    absl::StatusOr<v1::ListServersResponse> servers);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_VISIBLE_PART_H_
