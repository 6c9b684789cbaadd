#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_KUBERNETES_LOCK_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_KUBERNETES_LOCK_H_

#include <nlohmann/json.hpp>
#include <string>

#include "common/kubernetes/kubernetes_api.h"
#include "services/coordinator/leadership/leader_lock.h"

namespace paceline {

// The record as a Lease of coordination.k8s.io, which has to be there. Its
// times are for people: nobody decides by them.
//
// The account needs get and update of that Lease, and patch of the pods of the
// coordinators.
class KubernetesLock final : public LeaderLock {
 public:
  struct Options {
    KubernetesApi::Options api;
    std::string lease;  // Its name.
    // Of the leader's pod, which has the leader's name; empty: pods get none.
    std::string label;
  };

  explicit KubernetesLock(Options options);

  absl::StatusOr<Seen> Read() override;
  absl::StatusOr<std::string> Write(const LeaderRecord& record,
                                    const std::string& version) override;
  // By the label, which a Service selects.
  absl::Status Announce(const std::string& name) override;
  absl::Status Withdraw(const std::string& name) override;

 private:
  std::string Path() const;
  absl::Status SetLabel(const std::string& pod, bool leads);

  const Options options_;
  KubernetesApi api_;
  nlohmann::json lease_;  // As it was read or written last.
  std::string before_;    // Whom the record named last, of others.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_KUBERNETES_LOCK_H_
