#include "services/coordinator/sync/core/straggler_detector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"

namespace paceline {
namespace {

// Of the latest push, in the smoothed time.
constexpr double kLatestSeconds = 0.3;

}  // namespace

void StragglerDetector::Leave(WorkerId worker) {
  CHECK(members_.erase(worker) == 1);
  until_median_ = 0;
}

StragglerDetector::Changes StragglerDetector::Pushed(absl::Time now,
                                                     WorkerId worker,
                                                     absl::Duration busy,
                                                     uint32_t samples) {
  CHECK(samples > 0);
  Member& member = members_.at(worker);
  if (++member.pushes == 1) return {};
  const double seconds = absl::ToDoubleSeconds(busy) / samples;
  member.seconds =
      member.seconds == 0
          ? seconds
          : member.seconds + kLatestSeconds * (seconds - member.seconds);
  // For many workers a look at all of them at every push would be too much.
  if (until_median_ == 0) FindMedian();
  --until_median_;
  const double score = ScoreOf(member);
  const bool flagged = member.flagged ? score > kClearAt : score >= kFlagAt;
  Changes changes;
  changes.flag = flagged != std::exchange(member.flagged, flagged);
  if (changes.flag) member.since = now;
  changes.straggler =
      flagged != member.straggler && now - member.since >= kLasts;
  if (changes.straggler) member.straggler = flagged;
  return changes;
}

double StragglerDetector::Score(WorkerId worker) const {
  return ScoreOf(members_.at(worker));
}

bool StragglerDetector::IsFlagged(WorkerId worker) const {
  const auto it = members_.find(worker);
  return it != members_.end() && it->second.flagged;
}

bool StragglerDetector::IsStraggler(WorkerId worker) const {
  const auto it = members_.find(worker);
  return it != members_.end() && it->second.straggler;
}

double StragglerDetector::ScoreOf(const Member& member) const {
  if (member.seconds == 0 || median_ == 0) return 1;
  return member.seconds / median_;
}

void StragglerDetector::FindMedian() {
  std::vector<double> known;
  for (const auto& [worker, member] : members_) {
    if (member.seconds > 0) known.push_back(member.seconds);
  }
  until_median_ = 1 + members_.size() / 4;
  if (known.empty()) return;
  const auto median = known.begin() + (known.size() - 1) / 2;
  std::nth_element(known.begin(), median, known.end());
  median_ = *median;
}

}  // namespace paceline
