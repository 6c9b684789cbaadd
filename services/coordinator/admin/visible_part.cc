#include "services/coordinator/admin/visible_part.h"

#include <algorithm>
#include <string>

namespace paceline {
namespace {

// Its pace is that of its job.
void Hide(const Namespaces& namespaces, v1::Worker& worker) {
  if (namespaces.HasResource(worker.job())) return;
  worker.clear_job();
  worker.clear_samples_per_second();
  worker.clear_straggler_score();
  worker.clear_straggler();
}

void Hide(const Namespaces& namespaces, v1::Server& server) {
  // It names folders, which are those of any job's checkpoints.
  if (!namespaces.all()) server.clear_folder_trouble();
  auto& jobs = *server.mutable_jobs();
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(),
                            [&](const std::string& job) {
                              return !namespaces.HasResource(job);
                            }),
             jobs.end());
  auto& shards = *server.mutable_shards();
  shards.erase(std::remove_if(shards.begin(), shards.end(),
                              [&](const v1::HostedShard& shard) {
                                return !namespaces.HasResource(shard.job());
                              }),
               shards.end());
}

}  // namespace

absl::StatusOr<v1::Worker> VisibleTo(const Namespaces& namespaces,
                                     absl::StatusOr<v1::Worker> worker) {
  if (worker.ok()) Hide(namespaces, *worker);
  return worker;
}

absl::StatusOr<v1::ListWorkersResponse> VisibleTo(
    const Namespaces& namespaces,
    absl::StatusOr<v1::ListWorkersResponse> workers) {
  if (!workers.ok()) return workers;
  for (v1::Worker& worker : *workers->mutable_workers()) {
    Hide(namespaces, worker);
  }
  return workers;
}

absl::StatusOr<v1::ListServersResponse> VisibleTo(
    const Namespaces& namespaces,
    absl::StatusOr<v1::ListServersResponse> servers) {
  if (!servers.ok()) return servers;
  for (v1::Server& server : *servers->mutable_servers()) {
    Hide(namespaces, server);
  }
  return servers;
}

}  // namespace paceline
