#include "services/coordinator/sync/paradigms/dssp_controller.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "common/check.h"

namespace paceline {
namespace {

// The predicted pushes of both workers, in time since the fast one's last:
// small numbers whatever the zero of the clock.
struct Forecast {
  int64_t Fast(int64_t r) const { return r * fast_interval; }
  int64_t Slow(int64_t k) const { return slow_last + (k + 1) * slow_interval; }
  int64_t Distance(int64_t r, int64_t k) const {
    return std::abs(Slow(k) - Fast(r));
  }

  int64_t fast_interval;
  int64_t slow_last;
  int64_t slow_interval;
};

// The best k for `r`, at least `k`: the best k never falls as r grows, for the
// fast worker's push only moves later. Nothing if the rule admits none.
std::optional<int64_t> BestSlowPush(const Forecast& forecast, int64_t r,
                                    int64_t k, int64_t r_max, PairRule rule) {
  if (rule == PairRule::kCausal) {
    while (k <= r_max && forecast.Slow(k) < forecast.Fast(r)) ++k;
    return k <= r_max ? std::optional<int64_t>(k) : std::nullopt;
  }
  while (k < r_max && forecast.Distance(r, k + 1) < forecast.Distance(r, k)) {
    ++k;
  }
  return k;
}

}  // namespace

Allowance ChooseAllowance(const PushTimes& fast, const PushTimes& slow,
                          int64_t r_max, PairRule rule) {
  CHECK(r_max >= 0 && fast.interval_ns >= 0 && slow.interval_ns >= 0);
  const int64_t longest = (int64_t{1} << 61) / (r_max + 1);
  const Forecast forecast{.fast_interval = std::min(fast.interval_ns, longest),
                          .slow_last = slow.last_ns - fast.last_ns,
                          .slow_interval = std::min(slow.interval_ns, longest)};
  std::optional<Allowance> best;
  int64_t from = 0;
  for (int64_t r = 0; r <= r_max; ++r) {
    const auto k = BestSlowPush(forecast, r, from, r_max, rule);
    if (!k.has_value()) break;
    from = *k;
    const int64_t distance = forecast.Distance(r, *k);
    if (!best.has_value() || distance < best->distance_ns) {
      best = Allowance{r, *k, distance};
    }
  }
  return best.value_or(Allowance{});
}

}  // namespace paceline
