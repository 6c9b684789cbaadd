#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SSP_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SSP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "services/coordinator/policy/gate.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// Stale synchronous parallel (Ho et al., NIPS 2013; the server-side rule of
// algorithms.md 5.3): every push is applied as it arrives, and its worker may
// go on while its gap is at most `s`; otherwise it waits until that is so. At a
// push the gap is therefore at most s + 1. s = 0 paces like BSP, a huge s like
// ASP.
class Ssp final : public SyncPolicy {
 public:
  // REQUIRES: s >= 0.
  explicit Ssp(int64_t s) : gate_(s) {}

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then those who waited, by clock and
  // then by id.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override;
  PolicyView View() const override { return {.threshold = gate_.bound()}; }

 private:
  // Releases the worker or holds it.
  void Decide(WorkerId worker, std::vector<Action>& actions);

  Gate gate_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SSP_H_
