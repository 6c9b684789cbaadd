#include <array>
#include <cstddef>
#include <iterator>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/coordinator/sync/core/decision.h"

namespace paceline {
namespace {

// In the order of the enum.
constexpr absl::string_view kNames[] = {
    "wait_for_round",
    "round_closed",
    "within_bound",
    "wait_for_slowest",
    "caught_up",
    "allowance_granted",
    "allowance_used",
    "allowance_refused",
    "cold_start",
    "not_fastest",
    "capped",
    "lags",
    "lags_no_more",
    "refreshed",
    "weighed",
    "too_stale",
    "gradient_taken",
    "superseded",
    "too_late",
    "wait_for_closing",
    "sample_within",
    "sample_behind",
    "sample_caught_up",
    "quota",
    "cold_quota",
    "quota_used",
    "asked_for_part",
    "handed_over",
    "wait_for_group",
    "wait_for_merge",
    "wait_for_stale_group",
    "groups_applied",
    "floats",
    "late_push",
    "regrouped",
    "moved_to_group",
    "straggler",
    "no_straggler",
    "lost",
    "lost_push_taken",
    "range_returned",
    "partial_push",
    "blocks_refused",
    "push_discarded",
    "abandoned",
    "dealing_stopped",
};
static_assert(std::size(kNames) ==
              static_cast<size_t>(DecisionKind::kDealingStopped) + 1);

}  // namespace

absl::string_view NameOf(DecisionKind kind) {
  return kNames[static_cast<size_t>(kind)];
}

absl::Span<const DecisionKind> DecisionKinds() {
  static const auto kinds = [] {
    std::array<DecisionKind, std::size(kNames)> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<DecisionKind>(i);
    }
    return all;
  }();
  return kinds;
}

}  // namespace paceline
