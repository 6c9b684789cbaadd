#include "services/coordinator/sync/core/fences.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

Fences::Fences(int servers) : servers_(servers) { CHECK(servers >= 1); }

void Fences::Open(WorkerId worker, const std::optional<OpenGrant>& grant,
                  Closing last_closing) {
  Fence fence;
  fence.outcome.grant = grant;
  fence.outcome.fenced_at = last_closing;
  fence.answered.resize(servers_);
  fence.missing = servers_;
  CHECK(open_.emplace(worker, fence).second);
}

std::optional<FenceOutcome> Fences::Answer(WorkerId worker,
                                           const FenceAnswer& answer) {
  const auto it = open_.find(worker);
  if (it == open_.end()) return std::nullopt;
  if (answer.server < 0 || answer.server >= servers_) return std::nullopt;
  Fence& fence = it->second;
  if (fence.answered[answer.server]) return std::nullopt;
  fence.answered[answer.server] = true;
  FenceOutcome& outcome = fence.outcome;
  outcome.blocks += answer.blocks;
  if (outcome.grant && outcome.grant->iteration == answer.iteration) {
    outcome.taken += std::min(answer.blocks_taken, answer.blocks);
    outcome.samples = std::max(outcome.samples, answer.samples);
  }
  if (--fence.missing > 0) return std::nullopt;
  const FenceOutcome complete = outcome;
  open_.erase(it);
  return complete;
}

}  // namespace paceline
