#include "services/coordinator/policy/sample_dealer.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"

namespace paceline {

SampleDealer::SampleDealer(uint32_t train_samples, uint32_t epochs,
                           uint32_t batch_size)
    : train_samples_(train_samples), epochs_(epochs), batch_size_(batch_size) {
  CHECK(train_samples > 0 && epochs > 0 && batch_size > 0);
}

std::optional<SampleRange> SampleDealer::Deal(uint32_t size) {
  CHECK(size > 0);
  if (sealed_) return std::nullopt;
  if (returned_.empty() && next_epoch_ == epochs_) return std::nullopt;
  const SampleRange range =
      returned_.empty() ? TakeNew(size) : TakeReturned(size);
  CHECK(outstanding_.insert(range).second);
  return range;
}

void SampleDealer::Count(const SampleRange& range, uint32_t used) {
  CHECK(used <= range.size());
  // Only what is outstanding can be counted, and it stops being so: nobody
  // counts twice.
  CHECK(outstanding_.erase(range) == 1);
  counted_ += used;
  if (used < range.size()) {
    PutBack({range.epoch, range.begin + used, range.end});
  }
}

int64_t SampleDealer::RangesLeft() const {
  if (sealed_) return 0;
  if (next_epoch_ == epochs_) return returned_ranges_;
  const int64_t whole_epochs = epochs_ - next_epoch_ - 1;
  return returned_ranges_ + RangesIn(train_samples_ - next_begin_) +
         whole_epochs * RangesIn(train_samples_);
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

int64_t SampleDealer::RangesIn(uint32_t samples) const {
  return (static_cast<int64_t>(samples) + batch_size_ - 1) / batch_size_;
}

}  // namespace paceline
