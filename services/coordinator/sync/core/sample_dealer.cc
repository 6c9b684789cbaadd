#include "services/coordinator/sync/core/sample_dealer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

SampleDealer::SampleDealer(uint32_t train_samples, uint32_t epochs,
                           uint32_t batch_size, DataAssignment assignment)
    : train_samples_(train_samples),
      batch_size_(batch_size),
      limit_(int64_t{train_samples} * epochs) {
  CHECK(train_samples > 0 && epochs > 0 && batch_size > 0);
  if (assignment == DataAssignment::kStatic) {
    parts_.emplace(train_samples, limit_);
  }
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
        (before->epoch == range.epoch && before->end <= range.begin &&
         before->parts == range.parts);
    if (!whole || !dealt || !after || range.parts > train_samples) {
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
  counted_ = SamplesCounted(start, train_samples_);
  discarded_ = start.discarded;
  if (parts_) {
    const bool within = start.next_begin > 0;
    parts_->StartAt(start.next_epoch + (within ? 1 : 0));
    if (within) PutBack({start.next_epoch, start.next_begin, train_samples_});
  } else {
    next_epoch_ = start.next_epoch;
    next_begin_ = start.next_begin;
  }
  for (const SampleRange& range : start.open) PutBack(range);
}

void SampleDealer::Begin(absl::Span<const WorkerId> workers) {
  if (parts_) parts_->Begin(workers);
}

void SampleDealer::Join(WorkerId worker) {
  if (parts_) parts_->Join(worker);
}

void SampleDealer::Leave(WorkerId worker) {
  Drop(worker);
  if (!parts_) return;
  parts_->Leave(worker);
  news_ = true;
}

void SampleDealer::SetLimit(int64_t samples) {
  if (parts_) {
    if (samples < limit_) WithdrawAll();
    limit_ = samples;
    parts_->SetLimit(samples);
    news_ = true;
    return;
  }
  limit_ = samples;
  if (dealt() <= limit_ || lots_.empty()) return;
  std::vector<Share> shares;
  for (const auto& [worker, lot] : lots_) {
    shares.insert(shares.end(), lot.shares.begin(), lot.shares.end());
    withdrawn_.push_back({worker, lot.samples});
  }
  lots_.clear();
  reserved_samples_ = reserved_ranges_ = 0;
  // What lies at the end of all that was dealt is taken back from there, the
  // last one first, as if it had never been reserved.
  std::sort(shares.begin(), shares.end(),
            [](const Share& a, const Share& b) { return b.range < a.range; });
  for (const Share& share : shares) {
    const SampleRange& range = share.range;
    if (Before(range.epoch, range.end) == dealt() &&
        Before(range.epoch, range.begin) >= limit_) {
      next_epoch_ = range.epoch;
      next_begin_ = range.begin;
    } else {
      PutBackShare(share);
    }
  }
}

SamplePosition SampleDealer::Position() const {
  SamplePosition position{next_epoch_, next_begin_, {}, discarded_};
  std::merge(outstanding_.begin(), outstanding_.end(), returned_.begin(),
             returned_.end(), std::back_inserter(position.open));
  for (const auto& [range, worker] : doubted_) position.open.push_back(range);
  for (const auto& [worker, lot] : lots_) {
    for (const Share& share : lot.shares) position.open.push_back(share.range);
  }
  if (parts_) {
    position.next_epoch = parts_->next_epoch();
    const std::vector<SampleRange> of_parts = parts_->Open();
    position.open.insert(position.open.end(), of_parts.begin(), of_parts.end());
  }
  std::sort(position.open.begin(), position.open.end());
  return position;
}

std::optional<SampleRange> SampleDealer::Deal(uint32_t size, WorkerId worker) {
  CHECK(size > 0);
  if (sealed_) return std::nullopt;
  std::optional<Share> share = Take(size, worker);
  // A lot may hold nothing but what was doubted because of this worker.
  while (!share && !parts_ && WithdrawFullest()) share = Take(size, worker);
  if (!share) share = TakeDoubted(size, worker, /*own=*/true);
  if (!share) return std::nullopt;
  return HandOut(*share);
}

std::vector<SampleRange> SampleDealer::Reserve(WorkerId worker, uint32_t size,
                                               int64_t lookahead,
                                               int64_t most) {
  CHECK(size > 0);
  std::vector<SampleRange> reserved;
  if (sealed_) return reserved;
  int64_t wanted = lookahead - ReservedFor(worker);
  while (wanted > 0 && most >= size && reserved.size() < kMostReservedAtOnce) {
    const std::optional<Share> share = Take(size, worker);
    if (!share) break;
    const uint32_t samples = share->range.size();
    Lot& lot = lots_[worker];
    lot.shares.push_back(*share);
    lot.samples += samples;
    reserved_samples_ += samples;
    reserved_ranges_ += RangesIn(samples);
    reserved.push_back(share->range);
    wanted -= samples;
    most -= samples;
  }
  return reserved;
}

std::optional<SampleRange> SampleDealer::Cut(WorkerId worker, uint32_t size,
                                             uint32_t piece) {
  CHECK(size > 0 && piece > 0);
  const auto it = lots_.find(worker);
  if (it == lots_.end()) return std::nullopt;
  const uint64_t front = it->second.shares.front().range.size();
  // Rounded to the nearest number, a half downwards.
  const uint64_t parts = std::max<uint64_t>(
      1, (uint64_t{2} * front + size - 1) / (uint64_t{2} * size));
  const uint64_t part = (front + parts - 1) / parts;
  return HandOutFront(it, (part + piece - 1) / piece * piece);
}

std::optional<SampleRange> SampleDealer::CutAtMost(WorkerId worker,
                                                   uint32_t size,
                                                   uint32_t piece) {
  CHECK(size > 0 && piece > 0);
  const auto it = lots_.find(worker);
  if (it == lots_.end()) return std::nullopt;
  const uint32_t front = it->second.shares.front().range.size();
  const uint64_t most = uint64_t{size} + size / 4;
  const uint64_t least = std::min(front, std::max(piece, size / piece * piece));
  if (front <= most) return HandOutFront(it, front);
  if (least <= most) return HandOutFront(it, least);
  withdrawn_.push_back({worker, it->second.samples});
  ReturnLot(it);
  return std::nullopt;
}

SampleRange SampleDealer::HandOutFront(Lots::iterator it, uint64_t samples) {
  Lot& lot = it->second;
  Share share = lot.shares.front();
  SampleRange rest = share.range;
  share.range.end = rest.begin + static_cast<uint32_t>(
                                     std::min<uint64_t>(samples, rest.size()));
  rest.begin = share.range.end;
  reserved_ranges_ += RangesIn(rest.size()) -
                      RangesIn(int64_t{rest.size()} + share.range.size());
  reserved_samples_ -= share.range.size();
  lot.samples -= share.range.size();
  if (rest.size() > 0) {
    lot.shares.front().range = rest;
  } else {
    lot.shares.pop_front();
  }
  if (lot.shares.empty()) lots_.erase(it);
  return HandOut(share);
}

void SampleDealer::Drop(WorkerId worker) {
  const auto it = lots_.find(worker);
  if (it != lots_.end()) ReturnLot(it);
}

void SampleDealer::WithdrawAll() {
  while (!lots_.empty()) {
    withdrawn_.push_back({lots_.begin()->first, lots_.begin()->second.samples});
    ReturnLot(lots_.begin());
  }
}

std::vector<SampleDealer::Withdrawn> SampleDealer::TakeWithdrawn() {
  return std::exchange(withdrawn_, {});
}

int64_t SampleDealer::ReservedFor(WorkerId worker) const {
  const auto it = lots_.find(worker);
  return it == lots_.end() ? 0 : it->second.samples;
}

void SampleDealer::Count(const SampleRange& range, uint32_t used) {
  CHECK(used <= range.size());
  // Only what is outstanding can be counted, and it stops being so: nobody
  // counts twice.
  TakeOutstanding(range);
  second_tries_.erase(range);
  counted_ += used;
  if (used < range.size()) {
    PutBack({range.epoch, range.begin + used, range.end, range.parts});
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
  TakeOutstanding(range);
  PutBackDoubted(range, worker);
  return false;
}

void SampleDealer::Seal() {
  sealed_ = true;
  WithdrawAll();
}

bool SampleDealer::HasFor(WorkerId worker) const {
  if (sealed_) return false;
  return !doubted_.empty() || parts_->HasFor(worker);
}

int64_t SampleDealer::samples_total() const {
  if (!parts_) return std::max(limit_, dealt());
  int64_t total =
      counted_ + outstanding_samples_ + reserved_samples_ + parts_->samples();
  for (const auto& [range, worker] : doubted_) total += range.size();
  return total;
}

int64_t SampleDealer::RangesLeft() const {
  CHECK(!parts_);
  if (sealed_) return 0;
  const int64_t old = returned_ranges_ + reserved_ranges_;
  const int64_t left = limit_ - dealt();
  if (left <= 0) return old;
  const int64_t of_this = std::min<int64_t>(left, train_samples_ - next_begin_);
  const int64_t later = left - of_this;
  return old + RangesIn(of_this) +
         later / train_samples_ * RangesIn(train_samples_) +
         RangesIn(later % train_samples_);
}

int64_t SampleDealer::SamplesLeft() const {
  if (sealed_) return 0;
  return samples_total() - counted_ - outstanding_samples_ - reserved_samples_;
}

bool SampleDealer::done() const {
  if (counted_ == samples_total()) return true;
  return sealed_ && outstanding_.empty();
}

std::optional<SampleDealer::Share> SampleDealer::Take(uint32_t size,
                                                      WorkerId worker) {
  if (!returned_.empty()) return Share{TakeReturned(size), std::nullopt};
  std::optional<Share> share = TakeDoubted(size, worker, /*own=*/false);
  if (share) return share;
  if (parts_) {
    const std::optional<SampleRange> range = parts_->Take(size, worker);
    if (range) share = Share{*range, std::nullopt};
  } else if (dealt() < limit_) {
    share = Share{TakeNew(size), std::nullopt};
  }
  return share;
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

std::optional<SampleDealer::Share> SampleDealer::TakeDoubted(uint32_t size,
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
                          rest.begin + std::min(size, rest.size()), rest.parts};
  rest.begin = range.end;
  if (rest.size() > 0) PutBackDoubted(rest, whose);
  return Share{range, whose};
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

SampleRange SampleDealer::HandOut(const Share& share) {
  CHECK(outstanding_.insert(share.range).second);
  outstanding_samples_ += share.range.size();
  if (share.doubted) second_tries_.insert(share.range);
  return share.range;
}

void SampleDealer::TakeOutstanding(const SampleRange& range) {
  CHECK(outstanding_.erase(range) == 1);
  outstanding_samples_ -= range.size();
}

void SampleDealer::ReturnLot(Lots::iterator it) {
  const Lot lot = std::move(it->second);
  lots_.erase(it);
  reserved_samples_ -= lot.samples;
  for (const Share& share : lot.shares) {
    reserved_ranges_ -= RangesIn(share.range.size());
    PutBackShare(share);
  }
}

bool SampleDealer::WithdrawFullest() {
  const auto fullest = std::max_element(
      lots_.begin(), lots_.end(), [](const auto& a, const auto& b) {
        return a.second.samples < b.second.samples;
      });
  if (fullest == lots_.end()) return false;
  withdrawn_.push_back({fullest->first, fullest->second.samples});
  ReturnLot(fullest);
  return true;
}

void SampleDealer::PutBackShare(const Share& share) {
  if (share.doubted) {
    PutBackDoubted(share.range, *share.doubted);
  } else {
    PutBack(share.range);
  }
}

void SampleDealer::PutBackDoubted(const SampleRange& range, WorkerId worker) {
  news_ = true;
  CHECK(doubted_.emplace(range, worker).second);
  returned_ranges_ += RangesIn(range.size());
}

void SampleDealer::PutBack(SampleRange range) {
  if (parts_) {
    news_ = true;
    return parts_->PutBack(range);
  }
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
