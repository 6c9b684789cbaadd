#ifndef PACELINE_SERVICES_WORKER_DATA_BATCH_LOADER_H_
#define PACELINE_SERVICES_WORKER_DATA_BATCH_LOADER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/sample_range.h"
#include "services/worker/data/dataset.h"
#include "services/worker/data/image_move.h"

namespace paceline {

// Part of a range, ready to compute. What it points to stays until the second
// Next behind it, Start or destructor: one piece can go to a device while
// another is computed there.
struct MicroBatch {
  const float* images = nullptr;    // [n, channels, height, width]
  const uint8_t* labels = nullptr;  // [n]
  int n = 0;
  absl::Duration waited;  // How long Next had to wait for it.
};

// Gathers the micro-batches of a range on a thread of its own, one ahead of
// those in use. Start and Next belong to one thread, the consumer's; Stop may
// be called from any.
class BatchLoader {
 public:
  // One can be filled while two are in use.
  static constexpr uint32_t kSlots = 3;

  // Where a slot's images are gathered: of a kind, perhaps, that a device reads
  // at full speed, and large enough for every piece. An empty one is the
  // loader's to find.
  using ImageMemory = std::array<absl::Span<float>, kSlots>;

  // `seed` is the job's, of EpochPermutation and DrawMove. `dataset`, `memory`
  // and `clock` must outlive the loader.
  BatchLoader(const Dataset* dataset, uint64_t seed,
              const ImageMemory& memory = {},
              const Clock& clock = Clock::Real());
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Begins to load `range` in pieces of `micro_batch` samples, the last of
  // which may be smaller; what was being loaded is dropped. INVALID_ARGUMENT if
  // the range does not lie in the data set.  REQUIRES: micro_batch > 0.
  absl::Status Start(const SampleRange& range, int micro_batch)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The next piece, in order; nothing after the last one, and after Stop.
  std::optional<MicroBatch> Next() ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops what is being loaded; a waiting Next returns nothing. The piece in
  // use stays valid.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Written by the thread while it owns the slot, read by the consumer after.
  struct Slot {
    absl::Span<float> images;
    std::vector<float> own_images;  // What they are, unless memory was given.
    std::vector<uint8_t> labels;
    int n = 0;
  };

  struct Permutation {
    std::optional<uint32_t> epoch;
    uint32_t parts = 0;
    std::vector<uint32_t> order;
  };

  // One piece to gather, and the start that it belongs to.
  struct Piece {
    uint64_t generation = 0;
    SampleRange range;
    uint32_t slot = 0;
  };

  static std::array<Slot, kSlots> SlotsIn(const ImageMemory& memory);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasPiece() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Piece TakePiece() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Gather(const Piece& piece);
  const std::vector<uint32_t>& OrderOf(const SampleRange& range);

  const Dataset& dataset_;
  const uint64_t seed_;
  const Clock& clock_;

  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool active_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  SampleRange left_ ABSL_GUARDED_BY(mutex_);  // Not yet gathered.
  uint32_t micro_batch_ ABSL_GUARDED_BY(mutex_) = 1;
  // Pieces of this start: gathered, handed out, and given back.
  uint64_t gathered_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t returned_ ABSL_GUARDED_BY(mutex_) = 0;

  // Handed over by the counters above: piece k lies in slot k % kSlots.
  std::array<Slot, kSlots> slots_;

  // Only the thread uses them: the two latest epochs, because ranges of one are
  // still dealt while the next has begun.
  std::array<Permutation, 2> permutations_;
  size_t oldest_ = 0;
  std::vector<ImageMove> moves_;  // Of a piece, where images are moved.

  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_BATCH_LOADER_H_
