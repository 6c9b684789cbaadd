#include "services/coordinator/sync/paradigms/cgp/cgp_grouping.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "common/check.h"

namespace paceline {
namespace {

constexpr double kRounding = 1e-12;

// The sums of which S and D of a grouping (CgpGrouping) are made, so that
// adding a group takes O(1): D * P^2 = sum |g| T_g * sum |h| / T_h - sum |g|^2.
class CgpSums {
 public:
  void Add(size_t size, double period) {
    const auto n = static_cast<double>(size);
    work_ += n * period;
    speed_ += n / period;
    squares_ += n * n;
    ++groups_;
  }
  void Remove(size_t size, double period) {
    const auto n = static_cast<double>(size);
    work_ -= n * period;
    speed_ -= n / period;
    squares_ -= n * n;
    --groups_;
  }

  double speed() const { return speed_; }                      // S
  double Missed() const { return work_ * speed_ - squares_; }  // D * P^2

  // Whether it has less D, or with equal D more S, or with equal S fewer
  // groups. Values that differ only by rounding are equal.
  bool BetterThan(const CgpSums& other) const {
    // D is a difference of two numbers of this size.
    const double scale = std::max(work_ * speed_, other.work_ * other.speed_);
    const double missed = Missed() - other.Missed();
    if (std::abs(missed) > kRounding * scale) return missed < 0;
    const double speed = speed_ - other.speed_;
    if (std::abs(speed) > kRounding * std::max(speed_, other.speed_)) {
      return speed > 0;
    }
    return groups_ < other.groups_;
  }

 private:
  double work_ = 0;     // sum |g| * T_g
  double speed_ = 0;    // sum |g| / T_g
  double squares_ = 0;  // sum |g|^2
  int groups_ = 0;
};

// The least S that counts as beta of `alone`, but for rounding.
double SpeedFloor(double beta, double alone) {
  return beta * alone * (1 - kRounding);
}

// Walks over all divisions, the first group's size ascending, then the second
// one's and so on: of equally good ones the first met is the one wanted.
class ExactGrouping {
 public:
  ExactGrouping(absl::Span<const double> busy_s, double beta,
                size_t most_groups)
      : periods_(busy_s), most_groups_(most_groups), rest_(busy_s.size() + 1) {
    for (size_t i = periods_.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1] + 1 / periods_[i];
    }
    floor_ = SpeedFloor(beta, rest_[0]);
  }

  // Nothing if so few groups are not fast enough.
  std::vector<size_t> Run() {
    Extend(0, CgpSums());
    return best_sizes_;
  }

 private:
  // Divides the workers from `begin` on; `sums` is of those before it.
  void Extend(size_t begin, const CgpSums& sums) {
    // Nothing that begins so is fast enough.
    if (sums.speed() + rest_[begin] < floor_) return;
    if (begin == periods_.size()) {
      if (!best_sizes_.empty() && !sums.BetterThan(best_)) return;
      best_ = sums;
      best_sizes_ = sizes_;
      return;
    }
    if (sizes_.size() == most_groups_) return;
    for (size_t end = begin + 1; end <= periods_.size(); ++end) {
      CgpSums more = sums;
      more.Add(end - begin, periods_[end - 1]);
      sizes_.push_back(end - begin);
      Extend(end, more);
      sizes_.pop_back();
    }
  }

  const absl::Span<const double> periods_;
  const size_t most_groups_;
  std::vector<double> rest_;  // Speed of the workers from there on, alone.
  double floor_ = 0;
  std::vector<size_t> sizes_;  // Of the groups so far.
  CgpSums best_;
  std::vector<size_t> best_sizes_;
};

// The grouping of more workers than can be divided in all ways.
class GreedyGrouping {
 public:
  GreedyGrouping(absl::Span<const double> busy_s, double beta,
                 size_t most_groups)
      : periods_(busy_s), most_groups_(most_groups) {
    for (const double period : periods_) sums_.Add(1, period);
    floor_ = SpeedFloor(beta, sums_.speed());
    const size_t workers = periods_.size();
    for (size_t i = 0; i < workers; ++i) {
      groups_.push_back({i, i + 1, i, i + 1});
    }
    for (size_t i = 1; i < workers; ++i) groups_[i].previous = i - 1;
    count_ = workers;
  }

  std::vector<size_t> Run() {
    JoinNeighbours();
    if (count_ > most_groups_) {
      must_join_ = true;
      JoinNeighbours();
    }
    floor_ = std::min(floor_, sums_.speed());
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
    double loss;  // Of S, for a unit of D if it need not be.
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
    const double loss = std::max(0.0, sums_.speed() - joined.speed());
    if (must_join_) return Join{loss, index, Changes(index), joins_};
    const double gain = sums_.Missed() - joined.Missed();
    if (joined.speed() < floor_ || gain <= 0) return std::nullopt;
    return Join{loss / gain, index, Changes(index), joins_};
  }

  void JoinNeighbours() {
    for (size_t i = 0; i < groups_.size(); i = groups_[i].next) Offer(i);
    while (!queue_.empty() && !(must_join_ && count_ <= most_groups_)) {
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
    --count_;
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
  const size_t most_groups_;
  size_t count_ = 0;        // Of groups.
  bool must_join_ = false;  // There are too many, whatever it costs.
  int64_t joins_ = 0;
  std::priority_queue<Join> queue_;
};

}  // namespace

CgpGrouping EvaluateGrouping(absl::Span<const double> busy_s,
                             absl::Span<const size_t> sizes) {
  CgpSums sums;
  CgpGrouping grouping{.sizes = {sizes.begin(), sizes.end()}};
  size_t end = 0;
  for (const size_t size : sizes) {
    end += size;
    CHECK(size > 0 && end <= busy_s.size());
    sums.Add(size, busy_s[end - 1]);
  }
  CHECK(end == busy_s.size() && end > 0);
  grouping.speed = sums.speed();
  grouping.missed = sums.Missed() / static_cast<double>(end * end);
  return grouping;
}

CgpGrouping GroupByPace(absl::Span<const double> busy_s, double beta,
                        size_t most_groups) {
  CHECK(!busy_s.empty() && busy_s.front() > 0);
  CHECK(std::is_sorted(busy_s.begin(), busy_s.end()));
  CHECK(beta >= 0 && beta <= 1);
  CHECK(most_groups >= 1);
  if (busy_s.size() <= kExactWorkers) {
    const auto sizes = ExactGrouping(busy_s, beta, most_groups).Run();
    if (!sizes.empty()) return EvaluateGrouping(busy_s, sizes);
  }
  return GroupGreedily(busy_s, beta, most_groups);
}

CgpGrouping GroupGreedily(absl::Span<const double> busy_s, double beta,
                          size_t most_groups) {
  CHECK(!busy_s.empty());
  return EvaluateGrouping(busy_s,
                          GreedyGrouping(busy_s, beta, most_groups).Run());
}

}  // namespace paceline
