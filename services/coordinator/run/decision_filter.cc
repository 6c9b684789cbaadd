#include "services/coordinator/run/decision_filter.h"

#include <utility>

namespace paceline {
namespace {

constexpr int64_t kMostInASecond = 10;

// Null: of every push.
const char* CategoryOf(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kLost:
    case DecisionKind::kLostPushTaken:
    case DecisionKind::kRangeReturned:
    case DecisionKind::kPartialPush:
      return "worker-lost";
    case DecisionKind::kBlocksRefused:
    case DecisionKind::kPushDiscarded:
    case DecisionKind::kTooStale:
    case DecisionKind::kTooLate:
      return "discard";
    case DecisionKind::kRefreshed:
    case DecisionKind::kAskedForPart:
      return "refresh";
    case DecisionKind::kRegrouped:
      return "regroup";
    case DecisionKind::kStraggler:
    case DecisionKind::kNoStraggler:
      return "straggler";
    case DecisionKind::kHandedOver:
      return "handover";
    case DecisionKind::kDealingStopped:
    case DecisionKind::kDealingResumed:
      return "stop";
    default:
      return nullptr;
  }
}

}  // namespace

bool CostsWork(const Decision& decision) {
  switch (decision.kind) {
    case DecisionKind::kLost:
      // Who departs finishes first what it does.
      return static_cast<LossReason>(decision.a) != LossReason::kDeparted;
    case DecisionKind::kPartialPush:
    case DecisionKind::kBlocksRefused:
    case DecisionKind::kPushDiscarded:
      return true;
    default:
      return false;
  }
}

const char* DecisionFilter::Offer(DecisionKind kind, absl::Time now) {
  const char* const category = CategoryOf(kind);
  if (category == nullptr) return nullptr;
  Second& second = seconds_[category];
  if (now - second.begun >= absl::Seconds(1)) {
    second.begun = now;
    second.kept = 0;
  }
  if (second.kept == kMostInASecond) {
    ++second.omitted;
    return nullptr;
  }
  ++second.kept;
  return category;
}

void DecisionFilter::LeaveOut(const std::string& category) {
  ++seconds_[category].omitted;
}

int64_t DecisionFilter::TakeOmitted(const std::string& category) {
  return std::exchange(seconds_[category].omitted, 0);
}

}  // namespace paceline
