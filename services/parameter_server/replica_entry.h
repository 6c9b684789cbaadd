#ifndef PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_ENTRY_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/replication/replication_log.h"
#include "common/tensor/dtype.h"
#include "common/tensor/payload.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/contributors.h"

namespace paceline {

// One block of a push, as it was taken. A compensated gradient is the
// compensated one.
struct PushEntry {
  uint64_t incarnation = 0;
  int64_t iteration = 0;
  uint32_t block = 0;  // Its id.
  uint32_t samples = 0;
  float weight = 1;
  double rate = 0;
  std::optional<double> momentum = std::nullopt;
  bool round_plan = false;
  uint64_t round = 0;
  bool refused = false;  // It was not finite: there is no payload.
  DType dtype = DType::kF32;
  Payload payload;                    // Refers to what
  std::shared_ptr<const void> owner;  // this keeps.
};

// The accumulators of a block were drained into one update of it.
struct DrainEntry {
  uint32_t block = 0;
  std::vector<uint64_t> rounds;
  double rate = 0;
  std::optional<double> momentum = std::nullopt;
};

// What there is beside blocks, when a backup begins to follow.
struct BaseEntry {
  uint64_t sequence = 0;  // The last numbered command.
  int64_t closing = 0;
  uint64_t snapshot = 0;                                // The newest.
  std::vector<std::pair<uint64_t, FencedPush>> fenced;  // By incarnation.
};

// One block as it is, and who has pushed what for it last.
struct StateEntry {
  uint32_t block = 0;
  std::shared_ptr<const BlockState> state;
  std::vector<TakenBlock> taken;
};

// What the block, whose state came just before, has gathered for a round.
struct SumEntry {
  uint32_t block = 0;
  uint64_t round = 0;
  uint64_t samples = 0;
  size_t size = 0;  // Elements of
  std::shared_ptr<const float[]> sum;
};

// A numbered command has been carried out, after what it has changed.
struct ClosingDone {
  int64_t closing = 0;
};
struct FenceDone {
  uint64_t incarnation = 0;
  FencedPush answer = {};
};
struct SnapshotDone {
  uint64_t snapshot = 0;
};
struct SnapshotReleased {
  uint64_t snapshot = 0;
};
struct CommandEntry {
  uint64_t sequence = 0;
  // Nothing: one that has changed nothing.
  std::variant<std::monostate, ClosingDone, FenceDone, SnapshotDone,
               SnapshotReleased>
      what = {};
};

// What goes from a shard's primary to its backup (replication.proto).
using ReplicaEntry =
    std::variant<BaseEntry, StateEntry, SumEntry, FilledEntry, PushEntry,
                 DrainEntry, CommandEntry, MarkEntry>;

// Its gradient.
inline size_t BytesOf(const ReplicaEntry& entry) {
  const auto* const push = std::get_if<PushEntry>(&entry);
  return push == nullptr ? 0 : push->payload.size();
}

// What a shard's primary has taken, on its way to the backup. Whether another
// one follows is the coordinator's word.
using ReplicaLog = ReplicationLog<ReplicaEntry, BytesOf>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_REPLICA_ENTRY_H_
