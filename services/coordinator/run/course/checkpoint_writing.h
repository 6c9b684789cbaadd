#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_CHECKPOINT_WRITING_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_CHECKPOINT_WRITING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// The ids of checkpoints begin so whose weights have diverged: kept for whoever
// wants to look at them, and not for the job to go on from by itself.
inline constexpr char kDivergedCheckpoint[] = "diverged";

// A file of a checkpoint, as the server that wrote it describes it.
struct WrittenShard {
  std::string file;
  uint64_t bytes = 0;
  std::string sha256;
};

// The checkpoint that the servers of a run are writing, at most one at a time:
// what it is of, and which of them have written. Thread-compatible.
class CheckpointWriting {
 public:
  struct Order {
    std::string id;
    std::string directory;  // Of this checkpoint.
    ResumePoint point;
    double seconds = 0;  // Of training, when it was asked for.
    absl::Time begun;
    int64_t version_at_completion = 0;
    std::vector<WrittenShard> files;  // By shard.
  };

  // The servers have been told to write, by the command `sequence`.
  // REQUIRES: idle().
  void Begin(const Order& order, size_t shards, uint64_t sequence);

  // A server has carried out a command, when `version` was counted.
  void CommandDone(uint64_t sequence, int64_t version);
  // `status` says whether the server `name` could write the shard's file. What
  // is said of another checkpoint than the present one counts for nothing.
  void Written(int shard, absl::string_view name, int64_t snapshot,
               const absl::Status& status, const WrittenShard& file);
  // All servers have written, or failed to.
  bool AllWritten() const;
  // Why the first server that failed did; OK if none has.
  const absl::Status& failure() const { return failure_; }

  // From now on the manifest is written.  REQUIRES: AllWritten().
  void BeginManifest() { manifest_ = true; }
  // The coordinator is done with it.
  void EndManifest() { manifest_ = false; }
  bool writes_manifest() const { return manifest_; }

  bool idle() const { return !order_.has_value(); }
  // Of the command by which it was begun.
  uint64_t sequence() const { return sequence_; }
  // REQUIRES: !idle().
  const Order& order() const { return *order_; }
  // The shards that are still written.
  std::vector<int> StillWriting() const;
  // It is written, or has failed with `status` and whatever is there of it: the
  // answers of those who still write will come to nothing.
  // REQUIRES: !idle().
  Order End(const absl::Status& status);
  // The last one that was written.
  const std::optional<Order>& last_written() const { return last_written_; }

 private:
  std::optional<Order> order_;
  uint64_t sequence_ = 0;
  std::vector<bool> written_;  // By shard.
  bool manifest_ = false;
  absl::Status failure_;
  std::optional<Order> last_written_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_CHECKPOINT_WRITING_H_
