#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_PARTS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The samples of a job that nobody has, where each worker has a part of the
// data ("each worker is assigned a partition of the training data": Zhao, An,
// Liu and Chen, Dynamic Stale Synchronous Parallel, ICDCS 2019, III-C).
//
// An epoch begins when the first worker wants samples of it. It is divided then
// among the members there are, in parts that differ by one sample at most: the
// first member, by id, has the first part. While the members stay the same, so
// do the samples of a part (EpochPermutation()). Nobody waits for the others:
// any number of epochs may have begun.
//
// What belongs to nobody, because its worker has gone, is in the pool: whoever
// has nothing older of its own takes it. Who joins has parts of the epochs that
// begin later, and takes of the pool until then.
//
// Every operation takes O(log samples' ranges), but for those that begin an
// epoch or change the members or the limit. Thread-compatible.
class SampleParts {
 public:
  // Of each epoch `train_samples`, at least 1.
  SampleParts(uint32_t train_samples, int64_t limit)
      : train_samples_(train_samples), limit_(limit) {}

  // The epochs up to `next_epoch`, not included, have begun.
  // REQUIRES: none has.
  void StartAt(uint32_t next_epoch) { next_epoch_ = next_epoch; }
  // The first members, by id. What there is of epochs that have begun is theirs
  // as if they had been there at the beginning: the first has the first part.
  void Begin(absl::Span<const WorkerId> members);
  // REQUIRES: the worker is no member; to Leave(), it is one.
  void Join(WorkerId worker);
  void Leave(WorkerId worker);

  // So many samples are wanted in all. Of an epoch that is wanted in part only,
  // that is the same share of the front of each part. What was taken beyond
  // stays taken.
  void SetLimit(int64_t samples);

  // Whether Take() would give the worker something.
  bool HasFor(WorkerId worker) const;
  // The worker's next samples, no more than `size`: the oldest epoch first, in
  // an epoch its own part before the pool. A range lies in one part. nullopt if
  // there are none.  REQUIRES: size > 0.
  std::optional<SampleRange> Take(uint32_t size, WorkerId worker);
  // They are nobody's again, or come from where the job was left off.
  void PutBack(const SampleRange& range);

  // How many there are to take.
  int64_t samples() const;
  // The first epoch that has not begun.
  uint32_t next_epoch() const { return next_epoch_; }
  // What was not taken of epochs that have begun, wanted or not; unsorted.
  std::vector<SampleRange> Open() const;

 private:
  using Ranges = std::set<SampleRange>;  // Disjoint.

  // How many samples are wanted of those epochs that have not begun.
  int64_t NotBegun() const;
  // Whether the worker would have any of the next epoch.
  bool HasOfNext(WorkerId worker) const;
  void BeginEpoch();
  // Where what is wanted of the part ends.
  uint32_t WantedEnd(uint32_t epoch, uint32_t parts, uint32_t part) const;
  // Of whoever has that part.
  Ranges& HolderOf(const SampleRange& range, uint32_t part);
  // Everything that nobody has, which is nobody's from now on.
  std::vector<SampleRange> TakeAll();
  SampleRange TakeFront(Ranges& ranges, uint32_t size);

  const uint32_t train_samples_;
  int64_t limit_;
  uint32_t next_epoch_ = 0;
  std::vector<WorkerId> members_;  // Sorted.
  // Whose the parts are, from that epoch on.
  std::map<uint32_t, std::vector<WorkerId>> owners_;
  std::map<WorkerId, Ranges> own_;  // Of members; none is empty.
  Ranges pool_;
  Ranges unwanted_;   // Beyond the limit.
  int64_t free_ = 0;  // Samples of all ranges in own_ and pool_.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SAMPLE_PARTS_H_
