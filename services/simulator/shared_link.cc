#include "services/simulator/shared_link.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/check.h"

namespace paceline {
namespace {

// Nanoseconds that sums of doubles may be off by: less is no time.
constexpr double kRounding = 0.01;

}  // namespace

void SharedLink::Begin(Nanos now, uint32_t transfer, double bytes,
                       double most) {
  CHECK(bytes > 0 && most > 0);
  Carry(now);
  const Transfer begun = {.number = transfer, .left = bytes, .most = most};
  transfers_.insert(
      std::ranges::lower_bound(
          transfers_, std::tuple(most, transfer), {},
          [](const Transfer& t) { return std::tuple(t.most, t.number); }),
      begun);
  Divide();
}

void SharedLink::Stop(Nanos now, uint32_t transfer) {
  const auto it = std::ranges::find(transfers_, transfer, &Transfer::number);
  if (it == transfers_.end()) return;
  Carry(now);
  transfers_.erase(it);
  Divide();
}

std::vector<uint32_t> SharedLink::TakeEnded(Nanos now) {
  Carry(now);
  std::vector<uint32_t> ended;
  std::erase_if(transfers_, [&](const Transfer& transfer) {
    if (TimeLeft(transfer) > 0) return false;
    ended.push_back(transfer.number);
    return true;
  });
  std::ranges::sort(ended);
  Divide();
  return ended;
}

void SharedLink::Carry(Nanos now) {
  CHECK(now >= carried_);
  const double seconds = ToSeconds(now - carried_);
  for (Transfer& transfer : transfers_) {
    transfer.left = std::max(0.0, transfer.left - transfer.rate * seconds);
  }
  carried_ = now;
}

// The slowest sides first: what they leave is for those after them.
void SharedLink::Divide() {
  double left = bytes_per_second_;
  auto others = static_cast<double>(transfers_.size());
  next_end_ = kNever;
  for (Transfer& transfer : transfers_) {
    transfer.rate = std::min(transfer.most, left / others);
    left -= transfer.rate;
    --others;
    next_end_ = std::min(next_end_, carried_ + TimeLeft(transfer));
  }
}

Nanos SharedLink::TimeLeft(const Transfer& transfer) {
  const double nanos = transfer.left * 1e9 / transfer.rate - kRounding;
  return nanos <= 0 ? 0 : std::llround(std::ceil(nanos));
}

}  // namespace paceline
