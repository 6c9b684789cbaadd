#ifndef PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_PROCESS_H_
#define PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_PROCESS_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/metrics/serve_monitoring.h"
#include "common/security/call_guard.h"
#include "common/security/security.h"
#include "services/coordinator/control/run_control.h"
#include "services/coordinator/leadership/election.h"
#include "services/coordinator/leadership/leader_lock.h"
#include "services/coordinator/leadership/leadership_metrics.h"
#include "services/coordinator/process/own_address.h"

namespace paceline {

// Where coordinators share no record, the one that led before may be started
// again, and again, each time in the next term: it must not reach that of the
// one that a person has promoted.
inline constexpr uint64_t kAheadOfRestarts = 1'000'000;

// What a coordinator's process is told when it starts.
struct CoordinatorOptions {
  std::string name;       // Among the coordinators of its cluster.
  std::string listen;     // "host:port"
  std::string advertise;  // Where others reach it; empty: as it listens.
  std::string metrics;
  std::string store;
  std::vector<std::string> checkpoints;
  JobsOptions jobs;
  CallLimits limits;
  absl::Duration grace;
  bool reflection = true;
  bool local_sockets = true;  // For members of this machine.
  // How it is chosen who leads: "" (there is one coordinator, or a person says
  // it), "kubernetes:LEASE" or "postgresql://...".
  std::string leader_lock;
  std::string leader_label;  // Of the leader's pod; empty: none.
  std::string standby_of;    // "host:port" of the leader; empty: it leads.
  bool may_begin = true;     // Election::Options
};

// What both roles of a process need. All outlive them.
struct ProcessParts {
  const CoordinatorOptions& options;
  const ServerSecurity& security;
  const ClientSecurity& dialling;
  OwnAddress& address;
  prometheus::Registry& registry;
  Readiness& readiness;
  int metrics_port;
  absl::Notification& told_to_stop;
  LeaderLock& lock;
  Election& election;
  LeadershipMetrics& metrics;
};

// To stdout, for whoever has started it: {"event":"listening","address":"..."}.
void AnnounceAddress(const std::string& address);

// Runs a coordinator until it is told to stop: it stands by until it is to
// lead, if there may be another one, and then leads.
absl::Status RunCoordinator(const CoordinatorOptions& options,
                            const ServerSecurity& security,
                            const ClientSecurity& dialling,
                            absl::Notification* told_to_stop);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_PROCESS_H_
