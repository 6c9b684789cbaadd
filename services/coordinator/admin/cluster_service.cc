#include "services/coordinator/admin/cluster_service.h"

#include "common/proto_time.h"

namespace paceline {

absl::StatusOr<v1::Cluster> ClusterAdmin::Describe() const {
  const JobsOptions& options = jobs_->options();
  v1::Cluster cluster;
  cluster.set_version(PACELINE_VERSION);
  const int64_t millis = absl::ToInt64Milliseconds(options.lease);
  cluster.mutable_lease()->set_seconds(millis / 1000);
  cluster.mutable_lease()->set_nanos(
      static_cast<int32_t>(millis % 1000 * 1'000'000));
  *cluster.mutable_start_time() = ToProto(started_);
  *cluster.mutable_quota() = options.quota;
  cluster.set_checkpoint_directory(options.checkpoint_root);
  return cluster;
}

}  // namespace paceline
