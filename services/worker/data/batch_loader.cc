#include "services/worker/data/batch_loader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/permutation.h"

namespace paceline {

BatchLoader::BatchLoader(const Dataset* dataset, uint64_t seed,
                         const ImageMemory& memory, const Clock& clock)
    : dataset_(*dataset),
      seed_(seed),
      clock_(clock),
      slots_(SlotsIn(memory)),
      thread_([this] { Run(); }) {}

std::array<BatchLoader::Slot, BatchLoader::kSlots> BatchLoader::SlotsIn(
    const ImageMemory& memory) {
  std::array<Slot, kSlots> slots;
  for (uint32_t i = 0; i < kSlots; ++i) slots[i].images = memory[i];
  return slots;
}

BatchLoader::~BatchLoader() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    active_ = false;
  }
  thread_.join();
}

absl::Status BatchLoader::Start(const SampleRange& range, int micro_batch) {
  CHECK(micro_batch > 0);
  if (range.begin > range.end || range.end > dataset_.size() ||
      range.parts > dataset_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("samples ", range.begin, " to ", range.end,
                     " are not in a data set of ", dataset_.size(),
                     "; do worker and coordinator use the same data?"));
  }
  absl::MutexLock lock(&mutex_);
  ++generation_;
  left_ = range;
  micro_batch_ = static_cast<uint32_t>(micro_batch);
  gathered_ = taken_ = returned_ = 0;
  active_ = true;
  return absl::OkStatus();
}

void BatchLoader::Stop() {
  absl::MutexLock lock(&mutex_);
  ++generation_;
  active_ = false;
}

std::optional<MicroBatch> BatchLoader::Next() {
  absl::MutexLock lock(&mutex_);
  // All but the one that was handed out last.
  returned_ = std::max<uint64_t>(taken_, 1) - 1;
  absl::Duration waited;
  if (!HasNews()) {
    const absl::Time start = clock_.Now();
    mutex_.Await(absl::Condition(this, &BatchLoader::HasNews));
    waited = clock_.Now() - start;
  }
  if (!active_ || gathered_ == taken_) return std::nullopt;
  const Slot& slot = slots_[taken_++ % kSlots];
  return MicroBatch{slot.images.data(), slot.labels.data(), slot.n, waited};
}

bool BatchLoader::HasNews() const {
  if (!active_ || gathered_ > taken_) return true;
  // Everything has been handed out, and nothing is being gathered.
  return left_.begin == left_.end;
}

bool BatchLoader::HasPiece() const {
  if (ending_) return true;
  return active_ && left_.begin < left_.end && gathered_ - returned_ < kSlots;
}

BatchLoader::Piece BatchLoader::TakePiece() {
  Piece piece{.generation = generation_,
              .range = left_,
              .slot = static_cast<uint32_t>(gathered_ % kSlots)};
  piece.range.end =
      left_.begin + std::min(left_.end - left_.begin, micro_batch_);
  return piece;
}

void BatchLoader::Run() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &BatchLoader::HasPiece));
    if (ending_) return;
    const Piece piece = TakePiece();
    mutex_.Unlock();
    Gather(piece);
    mutex_.Lock();
    // A start or stop in the meantime has other plans for the slot.
    if (piece.generation != generation_) continue;
    left_.begin = piece.range.end;
    ++gathered_;
  }
}

void BatchLoader::Gather(const Piece& piece) {
  const std::vector<uint32_t>& order = OrderOf(piece.range);
  const uint32_t n = piece.range.end - piece.range.begin;
  Slot& slot = slots_[piece.slot];
  const size_t floats = n * static_cast<size_t>(dataset_.shape().size());
  if (slot.images.empty() || !slot.own_images.empty()) {
    if (slot.own_images.size() < floats) slot.own_images.resize(floats);
    slot.images = absl::MakeSpan(slot.own_images);
  }
  CHECK(slot.images.size() >= floats);
  if (slot.labels.size() < n) slot.labels.resize(n);
  slot.n = static_cast<int>(n);
  const absl::Span<const uint32_t> samples(order.data() + piece.range.begin, n);
  moves_.clear();
  if (dataset_.moves().has_value()) {
    for (const uint32_t sample : samples) {
      moves_.push_back(
          DrawMove(*dataset_.moves(), seed_, piece.range.epoch, sample));
    }
  }
  dataset_.Gather(samples, moves_, slot.images.data(), slot.labels.data());
}

const std::vector<uint32_t>& BatchLoader::OrderOf(const SampleRange& range) {
  for (const Permutation& permutation : permutations_) {
    if (permutation.epoch == range.epoch && permutation.parts == range.parts) {
      return permutation.order;
    }
  }
  Permutation& oldest = permutations_[oldest_];
  oldest_ = 1 - oldest_;
  oldest = {range.epoch, range.parts,
            EpochPermutation(seed_, range.epoch, dataset_.size(), range.parts)};
  return oldest.order;
}

}  // namespace paceline
