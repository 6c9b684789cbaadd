#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SSP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SSP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/paradigms/gate.h"

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

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then those who waited, by clock and
  // then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{SspOptions{gate_.bound()}});
  }
  PolicyView View() const override { return {.threshold = gate_.bound()}; }

 private:
  // Releases the worker or holds it.
  void Decide(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions);

  Gate gate_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SSP_H_
