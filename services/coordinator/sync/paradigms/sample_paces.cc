#include "services/coordinator/sync/paradigms/sample_paces.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {
namespace {

// How much the newest round says, beside all those before it.
constexpr double kNewest = 0.5;
// The same of a forecast that was more wrong than usual, and of one that was
// less so: forgotten over some twenty rounds.
constexpr double kSurprise = 0.5;
constexpr double kCalm = 0.05;
// A sum of differences may come out below what it sums.
constexpr double kLeast = 1e-9;

}  // namespace

void SamplePaces::Measured(WorkerId worker, double seconds_each, double wrong) {
  CHECK(seconds_each > 0);
  const auto [it, first] = paces_.try_emplace(worker);
  PaceForecast& pace = it->second;
  if (first) {
    pace = {.known = true, .seconds_each = seconds_each, .wrong = wrong};
    sum_ += seconds_each;
    return;
  }
  const double change = kNewest * (seconds_each - pace.seconds_each);
  pace.seconds_each += change;
  sum_ += change;
  const double weight = wrong > pace.wrong ? kSurprise : kCalm;
  pace.wrong += weight * (wrong - pace.wrong);
}

void SamplePaces::Forget(WorkerId worker) {
  const auto it = paces_.find(worker);
  if (it == paces_.end()) return;
  sum_ -= it->second.seconds_each;
  paces_.erase(it);
}

PaceForecast SamplePaces::Of(WorkerId worker) const {
  if (paces_.empty()) return {};
  const auto it = paces_.find(worker);
  if (it != paces_.end()) return it->second;
  const double mean = sum_ / static_cast<double>(paces_.size());
  return {.seconds_each = std::max(kLeast, mean)};
}

}  // namespace paceline
