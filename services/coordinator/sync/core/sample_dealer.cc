#include "services/coordinator/sync/core/sample_dealer.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

SampleDealer::SampleDealer(uint32_t train_samples, uint32_t epochs,
                           uint32_t batch_size)
    : train_samples_(train_samples),
      batch_size_(batch_size),
      limit_(int64_t{train_samples} * epochs) {
  CHECK(train_samples > 0 && epochs > 0 && batch_size > 0);
}

absl::Status CheckPosition(const SamplePosition& position,
                           uint32_t train_samples) {
  constexpr uint32_t kMostEpochs = 1u << 30;
  if (position.next_epoch > kMostEpochs ||
      position.next_begin >= train_samples) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the position is at sample ", position.next_begin, " of epoch ",
        position.next_epoch, ", an epoch has ", train_samples, " samples"));
  }
  const SampleRange end{position.next_epoch, position.next_begin,
                        position.next_begin};
  const SampleRange* before = nullptr;
  for (const SampleRange& range : position.open) {
    const bool whole = range.begin < range.end && range.end <= train_samples;
    const bool dealt = range.epoch < end.epoch ||
                       (range.epoch == end.epoch && range.end <= end.begin);
    const bool after =
        before == nullptr || before->epoch < range.epoch ||
        (before->epoch == range.epoch && before->end <= range.begin);
    if (!whole || !dealt || !after) {
      return absl::InvalidArgumentError(
          absl::StrCat("the open samples [", range.begin, ", ", range.end,
                       ") of epoch ", range.epoch, " cannot be"));
    }
    before = &range;
  }
  if (position.discarded < 0 ||
      position.discarded > SamplesCounted(position, train_samples)) {
    return absl::InvalidArgumentError(
        absl::StrCat("of the samples that are counted ", position.discarded,
                     " cannot have been discarded"));
  }
  return absl::OkStatus();
}

int64_t SamplesCounted(const SamplePosition& position, uint32_t train_samples) {
  int64_t counted =
      int64_t{train_samples} * position.next_epoch + position.next_begin;
  for (const SampleRange& range : position.open) counted -= range.size();
  return counted;
}

void SampleDealer::StartAt(const SamplePosition& start) {
  CHECK(dealt() == 0 && CheckPosition(start, train_samples_).ok());
  next_epoch_ = start.next_epoch;
  next_begin_ = start.next_begin;
  counted_ = SamplesCounted(start, train_samples_);
  discarded_ = start.discarded;
  for (const SampleRange& range : start.open) PutBack(range);
}

void SampleDealer::SetLimit(int64_t samples) { limit_ = samples; }

SamplePosition SampleDealer::Position() const {
  SamplePosition position{next_epoch_, next_begin_, {}, discarded_};
  std::merge(outstanding_.begin(), outstanding_.end(), returned_.begin(),
             returned_.end(), std::back_inserter(position.open));
  for (const auto& [range, worker] : doubted_) position.open.push_back(range);
  std::sort(position.open.begin(), position.open.end());
  return position;
}

std::optional<SampleRange> SampleDealer::Deal(uint32_t size, WorkerId worker) {
  CHECK(size > 0);
  if (sealed_) return std::nullopt;
  std::optional<SampleRange> range;
  if (!returned_.empty()) range = TakeReturned(size);
  if (!range) range = TakeDoubted(size, worker, /*own=*/false);
  if (!range && dealt() < limit_) range = TakeNew(size);
  if (!range) range = TakeDoubted(size, worker, /*own=*/true);
  if (range) CHECK(outstanding_.insert(*range).second);
  return range;
}

void SampleDealer::Count(const SampleRange& range, uint32_t used) {
  CHECK(used <= range.size());
  // Only what is outstanding can be counted, and it stops being so: nobody
  // counts twice.
  CHECK(outstanding_.erase(range) == 1);
  second_tries_.erase(range);
  counted_ += used;
  if (used < range.size()) {
    PutBack({range.epoch, range.begin + used, range.end});
  }
}

void SampleDealer::Discard(const SampleRange& range, uint32_t used) {
  Count(range, used);
  discarded_ += used;
}

bool SampleDealer::Doubt(const SampleRange& range, WorkerId worker) {
  if (second_tries_.contains(range)) {
    Discard(range, range.size());
    return true;
  }
  CHECK(outstanding_.erase(range) == 1);
  CHECK(doubted_.emplace(range, worker).second);
  returned_ranges_ += RangesIn(range.size());
  return false;
}

int64_t SampleDealer::RangesLeft() const {
  if (sealed_) return 0;
  const int64_t left = limit_ - dealt();
  if (left <= 0) return returned_ranges_;
  const int64_t of_this = std::min<int64_t>(left, train_samples_ - next_begin_);
  const int64_t later = left - of_this;
  return returned_ranges_ + RangesIn(of_this) +
         later / train_samples_ * RangesIn(train_samples_) +
         RangesIn(later % train_samples_);
}

bool SampleDealer::done() const {
  if (counted_ == samples_total()) return true;
  return sealed_ && outstanding_.empty();
}

SampleRange SampleDealer::TakeReturned(uint32_t size) {
  SampleRange rest = *returned_.begin();
  returned_.erase(returned_.begin());
  returned_ranges_ -= RangesIn(rest.size());
  SampleRange range = rest;
  range.end = range.begin + std::min(size, rest.size());
  rest.begin = range.end;
  if (rest.size() > 0) {
    returned_.insert(rest);
    returned_ranges_ += RangesIn(rest.size());
  }
  return range;
}

std::optional<SampleRange> SampleDealer::TakeDoubted(uint32_t size,
                                                     WorkerId worker,
                                                     bool own) {
  const auto it = std::find_if(
      doubted_.begin(), doubted_.end(),
      [&](const auto& doubted) { return (doubted.second == worker) == own; });
  if (it == doubted_.end()) return std::nullopt;
  SampleRange rest = it->first;
  const WorkerId whose = it->second;
  doubted_.erase(it);
  returned_ranges_ -= RangesIn(rest.size());
  const SampleRange range{rest.epoch, rest.begin,
                          rest.begin + std::min(size, rest.size())};
  second_tries_.insert(range);
  rest.begin = range.end;
  if (rest.size() > 0) {
    doubted_.emplace(rest, whose);
    returned_ranges_ += RangesIn(rest.size());
  }
  return range;
}

SampleRange SampleDealer::TakeNew(uint32_t size) {
  size = std::min(size, train_samples_ - next_begin_);
  const SampleRange range{next_epoch_, next_begin_, next_begin_ + size};
  next_begin_ = range.end;
  if (next_begin_ == train_samples_) {
    ++next_epoch_;
    next_begin_ = 0;
  }
  return range;
}

void SampleDealer::PutBack(SampleRange range) {
  // Neighbours are merged, or tails of tails would end as crumbs that cost a
  // whole iteration each.
  const auto next = returned_.lower_bound(range);
  if (next != returned_.begin()) {
    const auto before = std::prev(next);
    if (before->epoch == range.epoch && before->end == range.begin) {
      range.begin = before->begin;
      returned_ranges_ -= RangesIn(before->size());
      returned_.erase(before);
    }
  }
  if (next != returned_.end() && next->epoch == range.epoch &&
      next->begin == range.end) {
    range.end = next->end;
    returned_ranges_ -= RangesIn(next->size());
    returned_.erase(next);
  }
  returned_ranges_ += RangesIn(range.size());
  CHECK(returned_.insert(range).second);
}

int64_t SampleDealer::RangesIn(int64_t samples) const {
  return (samples + batch_size_ - 1) / batch_size_;
}

}  // namespace paceline
