// GroupGreedily: CGP's grouping of more workers than can be tried in all ways.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "common/check.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_grouping.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_sums.h"

namespace paceline {
namespace {

class GreedyGrouping {
 public:
  GreedyGrouping(absl::Span<const double> busy_s, double beta)
      : periods_(busy_s) {
    for (const double period : periods_) sums_.Add(1, period);
    floor_ = SpeedFloor(beta, sums_.speed());
    const size_t workers = periods_.size();
    for (size_t i = 0; i < workers; ++i) {
      groups_.push_back({i, i + 1, i, i + 1});
    }
  }

  std::vector<size_t> Run() {
    JoinNeighbours();
    MoveBoundaries();
    std::vector<size_t> sizes;
    for (size_t i = 0; i < groups_.size(); i = groups_[i].next) {
      sizes.push_back(groups_[i].size());
    }
    return sizes;
  }

 private:
  // Known by its first worker, whose index it keeps.
  struct Group {
    size_t begin;
    size_t end;
    size_t previous;  // Itself, if it is the first.
    size_t next;      // One past the last worker, if it is the last.
    int64_t changes = 0;
    size_t size() const { return end - begin; }
  };

  // A group's joining with the next one, as it was worth when it was tried.
  struct Join {
    double loss;  // Of S, for a unit of D.
    size_t group;
    int64_t
        changes;    // Of both groups then: the join is void if there are more.
    int64_t joins;  // Of all groups then.
    // For a queue whose top is the least.
    bool operator<(const Join& other) const {
      return std::pair(loss, group) > std::pair(other.loss, other.group);
    }
  };

  double PeriodOf(const Group& group) const { return periods_[group.end - 1]; }
  int64_t Changes(size_t index) const {
    const Group& group = groups_[index];
    if (group.next == groups_.size()) return group.changes;
    return group.changes + groups_[group.next].changes;
  }

  // Nothing if there is no next one, they would be too slow together, or D
  // would not become less.
  std::optional<Join> Try(size_t index) const {
    const Group& group = groups_[index];
    if (group.next == groups_.size()) return std::nullopt;
    const Group& next = groups_[group.next];
    CgpSums joined = sums_;
    joined.Remove(group.size(), PeriodOf(group));
    joined.Remove(next.size(), PeriodOf(next));
    joined.Add(group.size() + next.size(), PeriodOf(next));
    const double gain = sums_.Missed() - joined.Missed();
    if (joined.speed() < floor_ || gain <= 0) return std::nullopt;
    const double loss = std::max(0.0, sums_.speed() - joined.speed());
    return Join{loss / gain, index, Changes(index), joins_};
  }

  void JoinNeighbours() {
    for (size_t i = 0; i + 1 < groups_.size(); ++i) Offer(i);
    while (!queue_.empty()) {
      const Join join = queue_.top();
      queue_.pop();
      if (groups_[join.group].size() == 0 ||
          Changes(join.group) != join.changes) {
        continue;
      }
      // What a join is worth depends on all groups. One that was tried before
      // the latest join is tried again, and waits for its turn.
      if (join.joins != joins_) {
        Offer(join.group);
        continue;
      }
      Perform(join.group);
    }
  }

  void Offer(size_t index) {
    if (const auto join = Try(index)) queue_.push(*join);
  }

  void Perform(size_t index) {
    Group& group = groups_[index];
    Group& next = groups_[group.next];
    sums_.Remove(group.size(), PeriodOf(group));
    sums_.Remove(next.size(), PeriodOf(next));
    group.end = std::exchange(next.end, next.begin);
    group.next = next.next;
    ++group.changes;
    ++next.changes;
    ++joins_;
    sums_.Add(group.size(), PeriodOf(group));
    if (group.next < groups_.size()) groups_[group.next].previous = index;
    Offer(index);
    if (group.previous != index) Offer(group.previous);
  }

  // Once over all boundaries, from the fast end.
  void MoveBoundaries() {
    for (size_t i = 0; groups_[i].next < groups_.size(); i = groups_[i].next) {
      Group& group = groups_[i];
      Group& next = groups_[group.next];
      for (const int step : {-1, 1}) {
        if ((step < 0 ? group : next).size() == 1) continue;
        CgpSums moved = sums_;
        moved.Remove(group.size(), PeriodOf(group));
        moved.Remove(next.size(), PeriodOf(next));
        const size_t end = group.end + static_cast<size_t>(step);
        moved.Add(end - group.begin, periods_[end - 1]);
        moved.Add(next.end - end, PeriodOf(next));
        if (moved.speed() < floor_ || !moved.BetterThan(sums_)) continue;
        sums_ = moved;
        group.end = next.begin = end;
        break;
      }
    }
  }

  const absl::Span<const double> periods_;
  std::vector<Group> groups_;  // By first worker; one that has joined is empty.
  CgpSums sums_;
  double floor_ = 0;
  int64_t joins_ = 0;
  std::priority_queue<Join> queue_;
};

}  // namespace

CgpGrouping GroupGreedily(absl::Span<const double> busy_s, double beta) {
  CHECK(!busy_s.empty());
  return EvaluateGrouping(busy_s, GreedyGrouping(busy_s, beta).Run());
}

}  // namespace paceline
