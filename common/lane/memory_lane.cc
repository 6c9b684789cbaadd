#include "common/lane/memory_lane.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

// In front of the rings: a page.
constexpr uint64_t kHeaderBytes = 4096;

// Of one ring. More than a server takes off a connection ahead of its work
// would only be memory; a ring as small as that stays in the caches.
constexpr uint64_t kLeastRing = uint64_t{64} << 10;
constexpr uint64_t kMostRing = uint64_t{8} << 20;

// Places begin at multiples of it: a line of the caches.
constexpr uint64_t kAlignment = 64;

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

uint64_t RingBytesOf(const SharedMemory& memory) {
  return (memory.bytes() - kHeaderBytes) / 2;
}

absl::Status Outside(const Lent& lent, absl::string_view what, uint64_t bytes) {
  return absl::InvalidArgumentError(absl::StrCat("a place of ", lent.length,
                                                 " bytes at ", lent.position,
                                                 " in ", what, " of ", bytes));
}

// ThreadSanitizer knows no fences, and gcc says so. What this one orders is
// seen by another process, which it does not watch either.
void Fence() {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemoryLane>> MemoryLane::Make(uint64_t bytes) {
  // Twice, because what does not fit before a ring's end begins at its front.
  const uint64_t ring = Aligned(
      std::clamp(2 * std::min(bytes, kMostRing), kLeastRing, kMostRing));
  PACELINE_ASSIGN_OR_RETURN(
      auto memory,
      SharedMemory::Create("paceline-lane", kHeaderBytes + 2 * ring));
  return absl::WrapUnique(
      new MemoryLane(std::move(memory), /*theirs=*/nullptr, End::kMade));
}

absl::StatusOr<std::unique_ptr<MemoryLane>> MemoryLane::Of(
    UniqueFd fd, std::unique_ptr<const SharedMemory> theirs) {
  PACELINE_ASSIGN_OR_RETURN(
      auto memory,
      SharedMemory::Map(std::move(fd), kHeaderBytes + 2 * kMostRing));
  if (memory->bytes() < kHeaderBytes + 2 * kLeastRing ||
      RingBytesOf(*memory) % kAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a lane of ", memory->bytes(), " bytes"));
  }
  memory->CloseDescriptor();
  return absl::WrapUnique(
      new MemoryLane(std::move(memory), std::move(theirs), End::kTaken));
}

MemoryLane::MemoryLane(std::unique_ptr<SharedMemory> memory,
                       std::unique_ptr<const SharedMemory> theirs, End end)
    : memory_(std::move(memory)),
      theirs_(std::move(theirs)),
      ring_bytes_(RingBytesOf(*memory_)),
      // The memory is zeros, which is what a new header has.
      header_(*reinterpret_cast<Header*>(memory_->data())),
      mine_(end == End::kMade ? 0 : 1),
      lending_(memory_->data() + kHeaderBytes + mine_ * ring_bytes_),
      reading_(memory_->data() + kHeaderBytes + (1 - mine_) * ring_bytes_) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  static_assert(sizeof(Header) <= kHeaderBytes);
}

std::optional<Lent> MemoryLane::Lend(
    absl::Span<const absl::string_view> pieces) {
  uint64_t length = 0;
  for (const absl::string_view piece : pieces) length += piece.size();
  const uint64_t taken = Aligned(length);
  if (length == 0 || taken > ring_bytes_) return std::nullopt;
  const uint64_t at = lent_ % ring_bytes_;
  // What would be cut by the ring's end begins at its front. So what is larger
  // than half a ring may find no room in an empty one.
  const uint64_t skipped = at + taken > ring_bytes_ ? ring_bytes_ - at : 0;
  // Whatever the other end writes there.
  const uint64_t given_back =
      header_.given_back[mine_].value.load(std::memory_order_acquire);
  const uint64_t used = lent_ - given_back;
  if (used > ring_bytes_ || used + skipped + taken > ring_bytes_) {
    return std::nullopt;
  }
  const Lent lent = {lent_ + skipped, static_cast<uint32_t>(length)};
  char* to = lending_ + lent.position % ring_bytes_;
  for (const absl::string_view piece : pieces) {
    memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  lent_ = lent.position + taken;
  return lent;
}

std::optional<Lent> MemoryLane::Refer(absl::string_view bytes) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (own_ == nullptr || bytes.empty() || bytes.size() > kMost) {
    return std::nullopt;
  }
  // Of anything else's address, the difference is no place.
  const auto begin = reinterpret_cast<uintptr_t>(own_->data());
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  if (at < begin || at - begin > own_->bytes() ||
      bytes.size() > own_->bytes() - (at - begin)) {
    return std::nullopt;
  }
  return Lent{at - begin, static_cast<uint32_t>(bytes.size()), ++referred_};
}

void MemoryLane::Withdraw() {
  header_.withdrawn[mine_].value.store(referred_, std::memory_order_relaxed);
  // Before anything that is written where it was referred to: who reads that
  // sees this after it, in Stood().
  Fence();
}

absl::StatusOr<absl::string_view> MemoryLane::Look(const Lent& lent) const {
  if (lent.reference > 0) {
    const uint64_t bytes = theirs_ == nullptr ? 0 : theirs_->bytes();
    if (theirs_ == nullptr || lent.position > bytes ||
        lent.length > bytes - lent.position) {
      return Outside(lent, "a memory that was handed over", bytes);
    }
    return absl::string_view(theirs_->data() + lent.position, lent.length);
  }
  const uint64_t at = lent.position % ring_bytes_;
  if (lent.length > ring_bytes_ - at) {
    return Outside(lent, "a ring", ring_bytes_);
  }
  return absl::string_view(reading_ + at, lent.length);
}

bool MemoryLane::Stood(const Lent& lent) const {
  if (lent.reference == 0) return true;
  // After everything that was read.
  Fence();
  return lent.reference >
         header_.withdrawn[1 - mine_].value.load(std::memory_order_relaxed);
}

void MemoryLane::GiveBack(const Lent& lent) {
  if (lent.reference > 0) return;
  header_.given_back[1 - mine_].value.store(
      lent.position + Aligned(lent.length), std::memory_order_release);
}

}  // namespace paceline
