#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FENCES_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FENCES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// A grant whose push has not been counted.
struct OpenGrant {
  Iteration iteration = 0;
  SampleRanges ranges;  // The first one, and its extensions.
  PushPlan plan;
  Version base_version = 0;

  uint32_t samples() const { return SamplesIn(ranges); }
  // Of a push that is counted at that version: the updates between the weights
  // that it was computed on and its own.
  int64_t StalenessAt(Version version) const {
    return std::max(version, plan.applied_after) - base_version;
  }
};

// FenceOutcome says what is known of a lost worker once all servers have
// answered its fence.
struct FenceOutcome {
  std::optional<OpenGrant> grant;  // It was open when the worker was lost.
  Closing fenced_at = 0;           // The last closing before the fence.
  int64_t taken = 0;     // Blocks of the open iteration that servers have.
  int64_t blocks = 0;    // All blocks of an iteration.
  uint32_t samples = 0;  // Samples of the push that was taken; 0 if unknown.

  bool whole() const { return blocks > 0 && taken == blocks; }
};

// The fences that servers still have to answer. Thread-compatible.
class Fences {
 public:
  // `servers` is at least 1.
  explicit Fences(int servers);

  // A fence for `worker` goes out.  REQUIRES: none did before.
  void Open(WorkerId worker, const std::optional<OpenGrant>& grant,
            Closing last_closing);

  // The outcome if this was the last answer that was missing. A second answer
  // of one server, and one about a worker without a fence or from an unknown
  // server, changes nothing.
  std::optional<FenceOutcome> Answer(WorkerId worker,
                                     const FenceAnswer& answer);

  bool Contains(WorkerId worker) const { return open_.contains(worker); }
  bool empty() const { return open_.empty(); }

 private:
  struct Fence {
    FenceOutcome outcome;
    std::vector<bool> answered;  // Indexed by server.
    int missing = 0;
  };

  const int servers_;
  std::map<WorkerId, Fence> open_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FENCES_H_
