#include "services/coordinator/run/course/loss_watch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_format.h"
#include "common/check.h"

namespace paceline {
namespace {

// When there are so many parts, each two neighbours become one.
constexpr size_t kParts = 16;

}  // namespace

void LossWatch::Part::Add(const Part& other) {
  pushes += other.pushes;
  sum += other.sum;
  squares += other.squares;
}

void LossWatch::Pushed(double loss) {
  const Part push{1, loss, loss * loss};
  if (first_.pushes < kFirst) return first_.Add(push);
  if (parts_.empty() || parts_.back().pushes == size_) {
    if (parts_.size() == kParts) {
      for (size_t i = 0; i < kParts / 2; ++i) {
        Part both = parts_[2 * i];
        both.Add(parts_[2 * i + 1]);
        parts_[i] = both;
      }
      parts_.resize(kParts / 2);
      size_ *= 2;
    }
    parts_.emplace_back();
  }
  parts_.back().Add(push);
}

double LossWatch::Best() const {
  double best = std::numeric_limits<double>::infinity();
  for (const Part& part : parts_) {
    if (part.pushes == size_) best = std::min(best, part.mean());
  }
  return best;
}

bool LossWatch::Flat() const {
  int64_t pushes = first_.pushes;
  for (const Part& part : parts_) pushes += part.pushes;
  if (pushes < kEnough) return false;
  const double n = static_cast<double>(first_.pushes);
  const double mean = first_.mean();
  const double variance = std::max(0.0, first_.squares / n - mean * mean);
  const double fall =
      std::max(kFall * std::abs(mean), 3 * std::sqrt(variance / (n - 1)));
  return mean - Best() <= fall;
}

std::string LossWatch::Describe() const {
  CHECK(Flat());
  int64_t since = 0;
  for (const Part& part : parts_) since += part.pushes;
  return absl::StrFormat(
      "%.4g in the first %d pushes, at best %.4g in a part of the %d since",
      first_.mean(), kFirst, Best(), since);
}

}  // namespace paceline
