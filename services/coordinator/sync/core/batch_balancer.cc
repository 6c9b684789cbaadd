#include "services/coordinator/sync/core/batch_balancer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"

namespace paceline {
namespace {

// Of the latest push, in the smoothed rate.
constexpr double kLatestRate = 0.3;
constexpr uint32_t kLeastPart = 8;
constexpr uint32_t kMostTimes = 4;

}  // namespace

BatchBalancer::BatchBalancer(Batching batching, uint32_t batch_size)
    : batching_(batching), batch_size_(batch_size) {
  CHECK(batch_size > 0);
}

void BatchBalancer::SetBatching(Batching batching) {
  batching_ = batching;
  until_balance_ = 0;
}

void BatchBalancer::Join(WorkerId worker) {
  CHECK(members_.emplace(worker, Member{.size = batch_size_}).second);
  ++unknown_;
}

void BatchBalancer::Leave(WorkerId worker) {
  const auto it = members_.find(worker);
  CHECK(it != members_.end());
  if (it->second.rate == 0) --unknown_;
  members_.erase(it);
  until_balance_ = 0;
}

void BatchBalancer::Pushed(WorkerId worker, absl::Duration busy,
                           uint32_t samples) {
  CHECK(samples > 0);
  Member& member = members_.at(worker);
  // A first push is not measured: it warms caches.
  if (++member.pushes == 1 || busy <= absl::ZeroDuration()) return;
  const double rate = samples / absl::ToDoubleSeconds(busy);
  if (member.rate == 0) {
    member.rate = rate;
    --unknown_;
    until_balance_ = 0;
  } else {
    member.rate += kLatestRate * (rate - member.rate);
    if (until_balance_ > 0) --until_balance_;
  }
}

void BatchBalancer::Abandoned(WorkerId worker, absl::Duration elapsed) {
  if (elapsed <= absl::ZeroDuration()) return;
  Member& member = members_.at(worker);
  const double most = member.size / absl::ToDoubleSeconds(elapsed);
  if (member.rate > 0 && member.rate <= most) return;
  if (member.rate == 0) --unknown_;
  member.rate = most;
  until_balance_ = 0;
}

uint32_t BatchBalancer::SizeFor(WorkerId worker) {
  if (batching_ == Batching::kEven || unknown_ > 0) return batch_size_;
  if (until_balance_ == 0) Balance();
  return members_.at(worker).size;
}

absl::btree_map<WorkerId, Pace> BatchBalancer::Paces() {
  absl::btree_map<WorkerId, Pace> paces;
  for (const auto& [worker, member] : members_) {
    if (member.rate == 0) continue;
    const uint32_t size = SizeFor(worker);
    paces[worker] = {.seconds_each = 1 / member.rate, .samples = size};
  }
  return paces;
}

void BatchBalancer::Balance() {
  // For many workers a look at all of them at every push would be too much.
  until_balance_ = 1 + members_.size() / 4;
  std::vector<double> rates;
  rates.reserve(members_.size());
  for (const auto& [worker, member] : members_) rates.push_back(member.rate);
  const std::vector<uint32_t> sizes =
      SplitInProportion(uint64_t{batch_size_} * members_.size(), rates,
                        std::max<uint32_t>(1, batch_size_ / kLeastPart),
                        batch_size_ * kMostTimes);
  size_t next = 0;
  for (auto& [worker, member] : members_) member.size = sizes[next++];
}

std::vector<uint32_t> SplitInProportion(uint64_t total,
                                        const std::vector<double>& weights,
                                        uint32_t least, uint32_t most) {
  const size_t n = weights.size();
  CHECK(n > 0 && least * n <= total && total <= uint64_t{most} * n);
  // The share of who is beyond a limit is that limit, and the others split what
  // remains; which may put the next one beyond. Lower limits first: fixing one
  // makes the others' shares smaller only, and upper ones the other way round.
  std::vector<double> shares(n);
  std::vector<bool> fixed(n, false);
  for (bool again = true; again;) {
    again = false;
    double rest = static_cast<double>(total);
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
      (fixed[i] ? rest -= shares[i] : sum += weights[i]);
    double below = 0;
    double above = 0;
    for (size_t i = 0; i < n; ++i) {
      if (fixed[i]) continue;
      shares[i] = rest * weights[i] / sum;
      below += std::max(0.0, least - shares[i]);
      above += std::max(0.0, shares[i] - most);
    }
    for (size_t i = 0; i < n; ++i) {
      if (fixed[i]) continue;
      const bool low = shares[i] < least && below >= above;
      const bool high = shares[i] > most && above >= below;
      if (!low && !high) continue;
      shares[i] = low ? least : most;
      fixed[i] = again = true;
    }
  }
  std::vector<uint32_t> parts(n);
  std::vector<std::pair<double, size_t>> rests;  // The largest first.
  uint64_t dealt = 0;
  for (size_t i = 0; i < n; ++i) {
    parts[i] = static_cast<uint32_t>(
        std::clamp<double>(std::floor(shares[i]), least, most));
    dealt += parts[i];
    rests.emplace_back(parts[i] - shares[i], i);
  }
  std::sort(rests.begin(), rests.end());
  // Rounding down leaves less than one each, but for those at the limits.
  for (size_t i = 0; dealt < total; i = (i + 1) % n) {
    uint32_t& part = parts[rests[i].second];
    if (part == most) continue;
    ++part;
    ++dealt;
  }
  for (size_t i = n; dealt > total; i = i == 1 ? n : i - 1) {
    uint32_t& part = parts[rests[i - 1].second];
    if (part == least) continue;
    --part;
    --dealt;
  }
  return parts;
}

}  // namespace paceline
