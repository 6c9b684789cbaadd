#include "services/coordinator/sync/core/sample_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"
#include "common/permutation.h"

namespace paceline {
namespace {

// What was dealt while epochs had no parts is of one.
uint32_t PartsOf(const SampleRange& range) {
  return std::max(range.parts, uint32_t{1});
}

// In which part the position is: the inverse of PartBegin().
uint32_t PartAt(uint32_t size, uint32_t parts, uint32_t position) {
  const uint32_t each = size / parts;
  const uint32_t larger = size % parts;
  const uint32_t in_larger = larger * (each + 1);
  if (position < in_larger) return position / (each + 1);
  return larger + (position - in_larger) / each;
}

// Neighbours become one, or tails of tails would end as crumbs.
void Insert(std::set<SampleRange>& ranges, SampleRange range, uint32_t begin,
            uint32_t end) {
  const auto next = ranges.lower_bound(range);
  if (next != ranges.begin() && range.begin > begin) {
    const auto before = std::prev(next);
    if (before->epoch == range.epoch && before->end == range.begin) {
      range.begin = before->begin;
      ranges.erase(before);
    }
  }
  if (next != ranges.end() && range.end < end && next->epoch == range.epoch &&
      next->begin == range.end) {
    range.end = next->end;
    ranges.erase(next);
  }
  CHECK(ranges.insert(range).second);
}

}  // namespace

void SampleParts::Begin(absl::Span<const WorkerId> members) {
  CHECK(members_.empty() && owners_.empty());
  members_.assign(members.begin(), members.end());
  owners_.emplace(0, members_);
  for (const SampleRange& range : TakeAll()) PutBack(range);
}

void SampleParts::Join(WorkerId worker) {
  members_.insert(std::ranges::lower_bound(members_, worker), worker);
}

void SampleParts::Leave(WorkerId worker) {
  const auto member = std::ranges::lower_bound(members_, worker);
  CHECK(member != members_.end() && *member == worker);
  members_.erase(member);
  const auto own = own_.find(worker);
  if (own == own_.end()) return;
  pool_.merge(own->second);
  own_.erase(own);
}

void SampleParts::SetLimit(int64_t samples) {
  limit_ = samples;
  for (const SampleRange& range : TakeAll()) PutBack(range);
}

bool SampleParts::HasFor(WorkerId worker) const {
  return own_.contains(worker) || !pool_.empty() || HasOfNext(worker);
}

std::optional<SampleRange> SampleParts::Take(uint32_t size, WorkerId worker) {
  CHECK(size > 0);
  auto own = own_.find(worker);
  if (own == own_.end() && pool_.empty()) {
    if (!HasOfNext(worker)) return std::nullopt;
    BeginEpoch();
    own = own_.find(worker);
  }
  const bool of_pool =
      own == own_.end() ||
      (!pool_.empty() && pool_.begin()->epoch < own->second.begin()->epoch);
  const SampleRange range = TakeFront(of_pool ? pool_ : own->second, size);
  if (!of_pool && own->second.empty()) own_.erase(own);
  return range;
}

SampleRange SampleParts::TakeFront(Ranges& ranges, uint32_t size) {
  SampleRange range = *ranges.begin();
  ranges.erase(ranges.begin());
  SampleRange rest = range;
  range.end = rest.begin = range.begin + std::min(size, range.size());
  if (rest.size() > 0) ranges.insert(rest);
  free_ -= range.size();
  return range;
}

void SampleParts::PutBack(const SampleRange& range) {
  const uint32_t parts = PartsOf(range);
  SampleRange piece = range;
  while (piece.begin < range.end) {
    const uint32_t part = PartAt(train_samples_, parts, piece.begin);
    const uint32_t begin = PartBegin(train_samples_, parts, part);
    const uint32_t end = PartBegin(train_samples_, parts, part + 1);
    const uint32_t wanted = WantedEnd(range.epoch, parts, part);
    if (piece.begin < wanted) {
      piece.end = std::min(range.end, wanted);
      free_ += piece.size();
      Insert(HolderOf(piece, part), piece, begin, end);
    } else {
      piece.end = std::min(range.end, end);
      Insert(unwanted_, piece, begin, end);
    }
    piece.begin = piece.end;
  }
}

int64_t SampleParts::samples() const { return free_ + NotBegun(); }

std::vector<SampleRange> SampleParts::Open() const {
  std::vector<SampleRange> open(pool_.begin(), pool_.end());
  open.insert(open.end(), unwanted_.begin(), unwanted_.end());
  for (const auto& [worker, ranges] : own_) {
    open.insert(open.end(), ranges.begin(), ranges.end());
  }
  return open;
}

int64_t SampleParts::NotBegun() const {
  return std::max<int64_t>(0, limit_ - int64_t{train_samples_} * next_epoch_);
}

bool SampleParts::HasOfNext(WorkerId worker) const {
  const int64_t wanted = std::min<int64_t>(NotBegun(), train_samples_);
  const auto place = std::ranges::lower_bound(members_, worker);
  // The first ones have what there is if there is not one for each.
  return place != members_.end() && *place == worker &&
         place - members_.begin() < wanted;
}

void SampleParts::BeginEpoch() {
  const auto parts =
      static_cast<uint32_t>(std::min<size_t>(members_.size(), train_samples_));
  const auto before = owners_.rbegin();
  if (before == owners_.rend() || before->second != members_) {
    owners_[next_epoch_] = members_;
  }
  PutBack({next_epoch_++, 0, train_samples_, parts});
}

uint32_t SampleParts::WantedEnd(uint32_t epoch, uint32_t parts,
                                uint32_t part) const {
  const uint32_t begin = PartBegin(train_samples_, parts, part);
  const uint32_t end = PartBegin(train_samples_, parts, part + 1);
  const int64_t wanted = limit_ - int64_t{train_samples_} * epoch;
  if (wanted >= train_samples_) return end;
  if (wanted <= 0) return begin;
  const auto share = static_cast<uint32_t>(wanted);
  return begin + PartBegin(share, parts, part + 1) -
         PartBegin(share, parts, part);
}

SampleParts::Ranges& SampleParts::HolderOf(const SampleRange& range,
                                           uint32_t part) {
  const auto since = owners_.upper_bound(range.epoch);
  if (range.parts == 0 || since == owners_.begin()) return pool_;
  const std::vector<WorkerId>& owners = std::prev(since)->second;
  if (part >= owners.size()) return pool_;
  const bool present = std::ranges::binary_search(members_, owners[part]);
  return present ? own_[owners[part]] : pool_;
}

std::vector<SampleRange> SampleParts::TakeAll() {
  std::vector<SampleRange> all = Open();
  own_.clear();
  pool_.clear();
  unwanted_.clear();
  free_ = 0;
  return all;
}

}  // namespace paceline
