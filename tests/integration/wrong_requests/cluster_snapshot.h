#ifndef PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_CLUSTER_SNAPSHOT_H_
#define PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_CLUSTER_SNAPSHOT_H_

#include <string>

#include "tests/integration/wrong_requests/prepared_cluster.h"

namespace paceline {

// All that a request could change, as text: what the API shows of jobs with
// their etags, decisions, accuracies and checkpoints, of workers and servers;
// the rows of the store, used request ids among them; the checkpoints' files.
// Left out is what changes by itself, the progress of jobs that run and the
// speeds of workers, and what every request leaves, its audit record.
std::string SnapshotOf(const PreparedCluster& cluster);

// The lines that differ, at most a few; empty if the snapshots are the same.
std::string SnapshotDifference(const std::string& before,
                               const std::string& after);

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_WRONG_REQUESTS_CLUSTER_SNAPSHOT_H_
