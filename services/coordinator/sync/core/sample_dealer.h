#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_DEALER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_DEALER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sample_parts.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// A position says which samples of a job are still to be counted.
struct SamplePosition {
  // The first sample that was never dealt.
  uint32_t next_epoch = 0;
  uint32_t next_begin = 0;
  // The ranges before it that are not counted: disjoint, sorted.
  std::vector<SampleRange> open = {};
  // So many of those that are counted have taught nothing: nothing of them was
  // pushed.
  int64_t discarded = 0;

  friend bool operator==(const SamplePosition&,
                         const SamplePosition&) = default;
};

// INVALID_ARGUMENT unless a job over so many samples can be there.
absl::Status CheckPosition(const SamplePosition& position,
                           uint32_t train_samples);

// How many samples are counted there.  REQUIRES: CheckPosition() is OK.
int64_t SamplesCounted(const SamplePosition& position, uint32_t train_samples);

// Deals the samples of a job in ranges, so that each sample of each epoch is
// counted once, whatever the workers' speeds and losses.
//
// At every moment a sample of an epoch is in one of five states: not dealt yet,
// reserved (in the lot of a worker that will be dealt it), outstanding (in a
// range that was dealt), returned (to be dealt again) or counted. What is
// counted was learned from or discarded.
//
// A lot is for a worker that wants to know what comes next, because its data
// take time to load: ranges in the order in which they will be dealt to it.
// Nobody computes a reserved sample. So a lot can be withdrawn at any time; its
// samples are returned then, and positions have them open. A lot is withdrawn
// by itself where its samples are wanted elsewhere, or not at all: see Deal(),
// SetLimit() and Seal(). TakeWithdrawn() says whose were.
//
// Who trains on a stream (data "stream") only counts what it computes. Its
// ranges are dealt and reserved like all others, and mean nothing to it.
//
// With DataAssignment::kStatic each worker has a part of every epoch
// (SampleParts), and is dealt that, at its own pace. What another one has in
// its lot is never dealt to it, doubtful samples are.
//
// Every operation takes O(log ranges), but for Deal() while there are doubtful
// ranges or when only reserved ones are left, and for those that withdraw lots.
// Thread-compatible.
class SampleDealer {
 public:
  // `epochs` passes over `train_samples` samples, in ranges of `batch_size` if
  // no other size is asked for. All three at least 1.
  SampleDealer(uint32_t train_samples, uint32_t epochs, uint32_t batch_size,
               DataAssignment assignment = DataAssignment::kDynamic);

  // Goes on from there.  REQUIRES: CheckPosition() is OK of `start`, and
  // nothing was dealt yet.
  void StartAt(const SamplePosition& start);

  // Who trains, by id: of kStatic these are told, the first ones before
  // anything is dealt. Who has left loses its lot.
  void Begin(absl::Span<const WorkerId> workers);
  void Join(WorkerId worker);
  void Leave(WorkerId worker);

  // Deals nothing new once so many samples were dealt; the last range may go
  // beyond. The limit may be below what was dealt already: the samples that are
  // outstanding or returned are still counted then. All lots are withdrawn in
  // that case, and what was reserved last, beyond the limit, was never dealt.
  //
  // Of kStatic no range goes beyond, and the limit is every worker's: of what
  // is not outstanding it wants the epochs up to there, as SampleParts says.
  void SetLimit(int64_t samples);

  // The present position, in which everything reserved, outstanding or returned
  // is open.
  SamplePosition Position() const;

  // The next range, of `size` samples if there are so many together, now
  // outstanding; nullopt when nothing is left to deal.  REQUIRES: size > 0.
  // Returned samples come first, under their own epoch, then doubtful ones of
  // other workers; its own only when there is nothing else. A range never
  // crosses the end of an epoch, whose last range may therefore be short. The
  // next epoch is dealt without waiting for the ranges of the one before.
  //
  // When there is nothing but what is reserved, the fullest lot is withdrawn:
  // nobody is without work while another has more than it computes.
  std::optional<SampleRange> Deal(uint32_t size, WorkerId worker);
  std::optional<SampleRange> Deal() { return Deal(batch_size_, WorkerId{0}); }

  // Reserves ranges of `size` samples, as Deal() would give them, behind those
  // that the worker's lot has, until it has `lookahead` samples or more; but no
  // more than `most` samples and kMostReservedAtOnce ranges in this call, only
  // what nobody else has, and no doubtful ones of its own. Returns them in
  // their order.  REQUIRES: size > 0.
  std::vector<SampleRange> Reserve(WorkerId worker, uint32_t size,
                                   int64_t lookahead, int64_t most);
  // So that a message about them stays small.
  static constexpr size_t kMostReservedAtOnce = 64;

  // The next range of the worker's lot, now outstanding; nullopt if it has
  // none. It is the one at the front, whole, unless that is more than one and a
  // half times `size`, as the worker has become slower since: then one of equal
  // parts, in whole pieces of `piece` samples.  REQUIRES: size > 0, piece > 0.
  std::optional<SampleRange> Cut(WorkerId worker, uint32_t size,
                                 uint32_t piece);
  // The range at the front, whole, if it is at most a quarter above `size`;
  // else as many whole pieces as fit into `size`, or one. If one is more than a
  // quarter above it, the lot is withdrawn (TakeWithdrawn()): nullopt.
  std::optional<SampleRange> CutAtMost(WorkerId worker, uint32_t size,
                                       uint32_t piece);

  // Withdraws all lots.
  void WithdrawAll();
  struct Withdrawn {
    WorkerId worker;
    int64_t samples = 0;  // Of its lot.

    friend bool operator==(const Withdrawn&, const Withdrawn&) = default;
  };
  // The lots that were withdrawn since this was asked last, in that order. Who
  // had one is to be told before it is dealt anything more.
  std::vector<Withdrawn> TakeWithdrawn();
  bool any_withdrawn() const { return !withdrawn_.empty(); }

  // The first `used` samples of the range are counted, the rest is returned.
  // REQUIRES: `range` was dealt and is outstanding; `used` <= its size.
  void Count(const SampleRange& range, uint32_t used);
  // The same, but nothing was learned from them.
  void Discard(const SampleRange& range, uint32_t used);
  // What the worker made of the range was not finite. That may be the worker's
  // fault: the range is dealt once more, to another if there is one. The second
  // time it is the samples' fault: then they are discarded, and this is true.
  // REQUIRES: `range` is outstanding.
  bool Doubt(const SampleRange& range, WorkerId worker);

  // None of the range was used.  REQUIRES: `range` is outstanding.
  void Return(const SampleRange& range) { Count(range, 0); }

  // From now on nothing more is dealt, not even returned or reserved samples:
  // all lots are withdrawn.
  void Seal();
  // Everything is dealt again that Seal() has kept back.
  void Unseal() {
    sealed_ = false;
    news_ = true;
  }
  bool sealed() const { return sealed_; }

  // How many times Deal() would give a range of one batch if nothing else came
  // back; each reserved range counts by itself.  REQUIRES: not kStatic.
  int64_t RangesLeft() const;
  // Of kStatic: whether Deal() would give the worker something.
  bool HasFor(WorkerId worker) const;
  // Of kStatic: whether there may be something for who was dealt nothing,
  // because of what has happened since this was asked last.
  bool TakeNews() { return std::exchange(news_, false); }
  // How many samples are to be dealt that nobody has, as far as is known now.
  int64_t SamplesLeft() const;

  int64_t samples_counted() const { return counted_; }
  // How many of them taught nothing.
  int64_t samples_discarded() const { return discarded_; }
  size_t outstanding() const { return outstanding_.size(); }
  // How many samples are reserved for the worker.
  int64_t ReservedFor(WorkerId worker) const;
  // The number of samples that there are to count in all.
  int64_t samples_total() const;
  DataAssignment assignment() const {
    return parts_ ? DataAssignment::kStatic : DataAssignment::kDynamic;
  }

  // Whether every sample of every epoch is counted or, once the dealer is
  // sealed, nothing is outstanding.
  bool done() const;

 private:
  // A range on its way to a worker.
  struct Share {
    SampleRange range;
    // Because of whom it was doubted, if it was.
    std::optional<WorkerId> doubted;
  };
  struct Lot {
    std::deque<Share> shares;  // Not empty.
    int64_t samples = 0;
  };
  using Lots = std::map<WorkerId, Lot>;

  // How many samples lie before this one, and before the first one that was
  // never dealt.
  int64_t Before(uint32_t epoch, uint32_t begin) const {
    return int64_t{train_samples_} * epoch + begin;
  }
  int64_t dealt() const { return Before(next_epoch_, next_begin_); }
  // What comes next for the worker, but for reserved and its own doubtful
  // samples.
  std::optional<Share> Take(uint32_t size, WorkerId worker);
  SampleRange TakeReturned(uint32_t size);
  // Of the first range that was doubted because of another worker or, with
  // `own`, because of this one.
  std::optional<Share> TakeDoubted(uint32_t size, WorkerId worker, bool own);
  SampleRange TakeNew(uint32_t size);
  // It becomes outstanding.
  SampleRange HandOut(const Share& share);
  // The lot is withdrawn, if it has one.
  void Drop(WorkerId worker);
  // So many of the front of a lot, or as many as there are.
  SampleRange HandOutFront(Lots::iterator it, uint64_t samples);
  // To be dealt again.
  void PutBack(SampleRange range);
  void PutBackDoubted(const SampleRange& range, WorkerId worker);
  void PutBackShare(const Share& share);
  // What is reserved in it comes back.
  void ReturnLot(Lots::iterator it);
  // Withdraws the fullest lot; false if there is none.
  bool WithdrawFullest();
  // It is no longer outstanding.
  void TakeOutstanding(const SampleRange& range);
  // How many ranges of at most one batch `samples` neighbours make.
  int64_t RangesIn(int64_t samples) const;

  const uint32_t train_samples_;
  const uint32_t batch_size_;
  int64_t limit_;
  std::optional<SampleParts> parts_;  // Of kStatic.
  bool news_ = false;
  // The first sample that was never dealt, but of kStatic.
  uint32_t next_epoch_ = 0;
  uint32_t next_begin_ = 0;
  std::set<SampleRange> outstanding_;
  int64_t outstanding_samples_ = 0;
  Lots lots_;
  int64_t reserved_samples_ = 0;
  int64_t reserved_ranges_ = 0;  // The sum of RangesIn() over all shares.
  std::vector<Withdrawn> withdrawn_;
  // Neighbours are merged. Of kStatic they lie in the parts.
  std::set<SampleRange> returned_;
  std::map<SampleRange, WorkerId> doubted_;  // Because of whom.
  int64_t returned_ranges_ = 0;              // The sum of RangesIn() over both.
  std::set<SampleRange> second_tries_;       // Outstanding, once doubted.
  int64_t counted_ = 0;
  int64_t discarded_ = 0;
  bool sealed_ = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_DEALER_H_
