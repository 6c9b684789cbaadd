#ifndef PACELINE_SERVICES_PARAMETER_SERVER_JOB_SHARD_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_JOB_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/tensor/payload.h"
#include "services/parameter_server/announced_closing.h"
#include "services/parameter_server/block.h"
#include "services/parameter_server/contributors.h"
#include "services/parameter_server/delay_compensation.h"
#include "services/parameter_server/mean_gradient.h"
#include "services/parameter_server/pulls.h"
#include "services/parameter_server/replica_entry.h"
#include "services/parameter_server/round_sums.h"
#include "services/parameter_server/shard_config.h"
#include "services/parameter_server/snapshots.h"
#include "services/parameter_server/update_rule.h"

namespace paceline {

// The head of one pushed block.
struct PushBlock {
  uint64_t incarnation = 0;
  int64_t iteration = 0;  // From 1; the worker's own sequence number.
  uint32_t block = 0;     // Its id.
  uint32_t samples = 0;   // n, that the mean gradient is of; at least 1.
  float weight = 1;       // u
  double rate = 0;        // Of an immediate push; unused for a round.
  int64_t rated_at = 0;   // The version at which that was set.
  // Of an immediate push, in [0, 1); nothing: the optimizer's.
  std::optional<double> momentum = std::nullopt;
  bool round_plan = false;  // Gathers for `round` instead of applying.
  uint64_t round = 0;
  // Of its delay. Where nothing is kept of the last pull there is none.
  CompensationTerms compensation = {};
};

// INVALID_ARGUMENT, with what is wrong, for numbers that no push has.
absl::Status ValidatePush(const PushBlock& push);

// How much waits, gathers and is held now.
struct ShardCounters {
  size_t parked_pulls = 0;
  size_t open_rounds = 0;
  size_t snapshots = 0;
};

// One job's blocks on this server, and everything that is done to them: pushes
// and pulls of workers, commands of the coordinator. Thread-safe; pushes to
// different blocks run in parallel, closings one at a time.
//
// Errors, beside what the methods name: UNAVAILABLE after Stop().
class JobShard {
 public:
  // `snapshot_bytes` bounds what the distinct states take that the job's
  // snapshots refer to, whether or not the blocks still share them; null: not
  // bounded. INVALID_ARGUMENT, RESOURCE_EXHAUSTED as ValidateShardConfig().
  static absl::StatusOr<std::unique_ptr<JobShard>> Create(
      ShardConfig config, std::shared_ptr<ByteBudget> snapshot_bytes = nullptr);

  JobShard(const JobShard&) = delete;
  JobShard& operator=(const JobShard&) = delete;

  const ShardConfig& config() const { return config_; }

  // Sets a block's initial values, with momentum and moments of zero. May be
  // repeated. INVALID_ARGUMENT: unknown block, wrong size, a value that is not
  // finite. FAILED_PRECONDITION: a push has been taken. Once a shard that is
  // rebuilt has all its values this changes nothing.
  absl::Status SetBlock(uint32_t block, const Payload& payload, DType dtype);

  // Sets a block's initial state as it was saved: weights, optimizer, steps.
  // Once all blocks have theirs, the job counts as initialized, and as trained:
  // SetBlock() comes too late. May be repeated before. INVALID_ARGUMENT:
  // unknown block, another size or number of slots, a value that is not finite.
  // FAILED_PRECONDITION: training has begun.
  absl::Status RestoreBlock(uint32_t block, std::shared_ptr<BlockState> state);

  // Takes one block of a push, by its plan; a repeated one changes nothing.
  // A block with a value that is not finite is refused: taken, not applied.
  // INVALID_ARGUMENT: unknown block, wrong payload size, absurd numbers.
  // FAILED_PRECONDITION: initial values are missing, or the incarnation has
  // begun a later iteration. ABORTED: it is fenced. RESOURCE_EXHAUSTED: too
  // many open rounds or incarnations; the block was not taken and may be
  // pushed again.
  // `keep` gives what keeps the payload's bytes; it is called, at most once, if
  // a backup is to have them too. Whoever acknowledges a complete iteration
  // does so with log().WhenHeld().
  using KeepBytes = absl::FunctionRef<std::shared_ptr<const void>()>;
  absl::StatusOr<PushOutcome> Push(const PushBlock& push,
                                   const Payload& payload, DType dtype,
                                   KeepBytes keep);
  // Of a payload that is copied if it is to be kept; as if `keep` gave null.
  absl::StatusOr<PushOutcome> Push(const PushBlock& push,
                                   const Payload& payload, DType dtype);

  // Drains the block if it has all gradients that were announced for it. To be
  // called after Push(): whoever pushed need not wait for it.
  void DrainAhead(uint32_t block);

  // Gives all blocks once `closing` has been applied and all are initialized;
  // errors come through the callback (Pulls::Pull). ABORTED: fenced. `early`
  // is not told of what never changes.
  void Pull(const Puller& puller, int64_t closing, PullCallback callback,
            EarlyBlock early = nullptr) {
    pulls_.Pull(puller, closing, std::move(callback), std::move(early));
  }
  // Pulls, and keeps what was pulled, so that the incarnation's next push can
  // be compensated. A request that is repeated gets what is kept of it.
  // RESOURCE_EXHAUSTED: too many incarnations.
  void PullAndKeep(const Puller& puller, int64_t closing,
                   PullCallback callback);
  // Gives all blocks of a snapshot, once it exists.
  void PullSnapshot(const Puller& puller, uint64_t snapshot,
                    PullCallback callback) {
    pulls_.PullSnapshot(puller, snapshot, std::move(callback));
  }

  // Takes what never changes out of what a pull gave: all blocks, in order.
  void LeaveOutFrozen(std::vector<PulledBlock>& blocks) const;
  // The ids of every `parts`-th block, beginning with number `part` of the
  // configuration's.  REQUIRES: part < parts.
  absl::flat_hash_set<uint32_t> BlocksOfPart(uint32_t parts,
                                             uint32_t part) const;

  // Ends what has waited too long.
  void ExpirePulls(absl::Time now);
  // The stream `owner` is gone; its callbacks are dropped (Pulls::Cancel).
  void CancelPulls(uint64_t owner) { pulls_.Cancel(owner); }
  // Ends all parked pulls and refuses everything from now on.
  void Stop(absl::string_view reason);

  // The coordinator's commands.

  // That closing will come next, as far as anybody knows. A block that has the
  // gradients of its round is drained at once, here or by DrainAhead(), and
  // those who wait for the closing are told of the block. When all blocks are,
  // they get their pulls. Where there is a backup they get them once it has all
  // that is in them. Close() then has the rest to do, and gives what it would
  // have given. Nothing happens if the closing is not the next one.
  // INVALID_ARGUMENT: an absurd rate, or no gradients.
  absl::Status Announce(const AnnouncedClosing& announced);

  // Withdraws what is announced. Whether TakeBlocks() would give what it gave
  // last: false also where another primary gave that, and once a block is past
  // that closing.
  bool HoldBack();

  // Drains the accumulators of `rounds` and applies, block by block, their sum
  // as one update at `rate`, with that momentum if it is not the optimizer's;
  // then serves the pulls that waited for `closing`, which are told of each
  // block early. Gives what was applied to the trained blocks; nothing where
  // that is no mean of the same samples in all of them.
  // INVALID_ARGUMENT: `closing` is not above the last, or an absurd rate or
  // momentum.
  absl::StatusOr<std::optional<MeanGradient>> Close(
      int64_t closing, absl::Span<const uint64_t> rounds, double rate,
      std::optional<double> momentum = std::nullopt);

  // Refuses the incarnation from now on; once this returns, nothing of it is
  // applied any more, and the answer says exactly what had been taken. Another
  // fence of it answers the same. Also frees the record of an incarnation that
  // left politely: fence those too, or max_incarnations is reached.
  absl::StatusOr<FencedPush> Fence(uint64_t incarnation);

  // Keeps the current states under `snapshot` until it is released.
  // FAILED_PRECONDITION: initial values are missing. ALREADY_EXISTS: the id is
  // in use. RESOURCE_EXHAUSTED: too many or too large snapshots.
  absl::Status Snapshot(uint64_t snapshot);
  void ReleaseSnapshot(uint64_t snapshot) { pulls_.ReleaseSnapshot(snapshot); }
  // The largest that was taken; their numbers ascend.
  uint64_t newest_snapshot() const { return pulls_.newest_snapshot(); }

  // The current states, to be written while training goes on: the caller holds
  // them, outside the bound on snapshots, because a job that could not be saved
  // would lose its result. FAILED_PRECONDITION: initial values are missing.
  absl::StatusOr<PulledBlocks> TakeBlocks();

  // The shard was lost with its server, and this one begins as if it had
  // performed everything up to that closing, with no weights yet. `snapshot`:
  // the largest number of one so far.
  // REQUIRES: nothing has happened yet.
  void BeginRebuilt(int64_t closing, uint64_t snapshot);

  // Where the weights lie that workers of this machine may read; null: nowhere.
  std::shared_ptr<const SharedMemory> shared_weights() const {
    return weight_memory_ == nullptr ? nullptr : weight_memory_->memory();
  }

  ShardCounters Counters() const;

  // Of a block that comes from elsewhere. INVALID_ARGUMENT: it is none here.
  struct BlockShape {
    size_t size = 0;
    int slots = 0;
  };
  absl::StatusOr<BlockShape> ShapeOf(uint32_t block) const;
  // Blocks of which each push has something.
  uint32_t pushed_blocks() const { return pushed_blocks_; }

  // As a shard's primary: what goes to the backup, and who waits for it.

  ReplicaLog& log() { return log_; }
  // A backup begins to follow, to be filled by FillFurther(); `wake` and `hold`
  // are ReplicaLog::Begin()'s. Gives the number of the following. REQUIRES: no
  // command of the coordinator at the same time. `sequence`: of the last one.
  // FAILED_PRECONDITION: initial values are missing.
  absl::StatusOr<uint64_t> Replicate(uint64_t sequence, bool hold,
                                     std::function<void()> wake);
  // Gives that backup the next of what there is: block by block, from 0, as it
  // is now, after which its changes follow, and then that there is no more:
  // false. A block that waits to be sent is a copy if it is updated meanwhile,
  // so whoever sends asks as it goes.
  bool FillFurther(uint64_t following, uint32_t block);
  // A command has been carried out.
  void LogCommand(const CommandEntry& done);

  // The shard's epoch, as the coordinator has told it last.
  uint64_t epoch() const { return epoch_.load(); }
  void set_epoch(uint64_t epoch) { epoch_.store(epoch); }

  // As a backup, which Create() makes of a config with `backup`. It gives
  // nothing to anybody and takes nothing but entries, until it is promoted.

  bool serving() const { return serving_.load(); }
  // It begins to be followed by a stream, which `end` ends when it is promoted.
  // FAILED_PRECONDITION: it is no backup, or has entries already.
  absl::Status BeginReplay(std::function<void(const absl::Status&)> end);
  // The next entry of the stream. ABORTED: it has been promoted.
  // INVALID_ARGUMENT for what no primary sends. RESOURCE_EXHAUSTED: too many
  // rounds, or incarnations.
  absl::Status Replay(const ReplicaEntry& entry);
  // It serves from now on, and takes no entry any more. Gives the number of the
  // last command. FAILED_PRECONDITION: it has not got everything.
  absl::StatusOr<uint64_t> BecomePrimary();

 private:
  struct HostedBlock {
    HostedBlock(const BlockConfig& block, int slots, OpenRounds* open,
                const std::shared_ptr<WeightMemory>& memory)
        : config(block),
          state(block.size, slots, memory),
          sums(block.size, open),
          compensation(block.size) {}

    const BlockConfig& config;
    Block state;
    RoundSums sums;
    DelayCompensation compensation;
    // Orders the changes of the block: one is made, noted with its contributor
    // and logged under it, so that the log has them in the order in which they
    // were made. Before the locks of all three.
    absl::Mutex order;
    // The rate that was set last for a push of the block, and when.
    double rate ABSL_GUARDED_BY(order) = 0;
    int64_t rated_at ABSL_GUARDED_BY(order) = 0;
    // The following whose log has the block's changes.
    uint64_t followed ABSL_GUARDED_BY(order) = 0;
    // What was drained for the closing that was announced last.
    DrainedAhead ahead ABSL_GUARDED_BY(order);
  };
  // What was taken from one block's rounds and applied.
  struct Drained {
    uint64_t samples = 0;
    double square = 0;  // Of a trained block.
  };
  // Whether the change of the block goes to the log of `following`.
  static bool IsFollowed(const HostedBlock& block, uint64_t following)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(block.order) {
    return following != 0 && block.followed == following;
  }

  JobShard(ShardConfig config, std::shared_ptr<ByteBudget> snapshot_bytes);

  absl::StatusOr<uint32_t> FindBlock(uint32_t id) const;
  absl::StatusOr<uint32_t> FindBlock(uint32_t id, const Payload& payload,
                                     DType dtype) const;
  // The same of a block that is pushed.
  absl::StatusOr<uint32_t> FindPushed(uint32_t id, const Payload& payload,
                                      DType dtype) const;
  // A block has initial values for the first time.
  void CountInitialized();
  bool initialized() const { return missing_blocks_.load() == 0; }
  // At which rate the block takes an immediate push.
  static double RateOf(HostedBlock& block, const PushBlock& push)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(block.order);
  absl::Status Take(HostedBlock& block, const PushBlock& push,
                    const Payload& payload, DType dtype);
  // The gradient, compensated for what has changed since `pulled`, if that is
  // known.
  static std::vector<float> Compensated(HostedBlock& block,
                                        const PushBlock& push,
                                        const Payload& payload, DType dtype,
                                        const BlockState* pulled);
  void Apply(HostedBlock& block, const Contribution& contribution,
             const Payload& payload, DType dtype, double* square = nullptr);
  std::optional<MeanGradient> DrainRounds(int64_t closing,
                                          absl::Span<const uint64_t> rounds,
                                          double rate,
                                          std::optional<double> momentum);
  // One block of them, and the log entry of it; nothing if they have nothing.
  std::optional<Drained> DrainBlock(HostedBlock& block,
                                    absl::Span<const uint64_t> rounds,
                                    double rate, std::optional<double> momentum)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(block.order);
  // Of a block that is as those who wait for the closing want it.
  static void TellEarly(
      const HostedBlock& block,
      absl::Span<const std::shared_ptr<const EarlyBlock>> waiting);
  // If the announcement is still that of now.
  void DrainAhead(HostedBlock& block, OpenAnnouncement& announced);
  // True: the block had all that was announced.
  bool DrainIfGathered(HostedBlock& block, const AnnouncedClosing& closing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(block.order);
  std::shared_ptr<OpenAnnouncement> announced() const {
    absl::MutexLock lock(&announced_mu_);
    return announced_;
  }
  void AppendState(HostedBlock& block, uint32_t index, uint64_t following);

  // One kind of entry each.
  absl::Status ReplayEntry(const BaseEntry& base);
  absl::Status ReplayEntry(const StateEntry& state);
  absl::Status ReplayEntry(const SumEntry& sum);
  absl::Status ReplayEntry(const FilledEntry& filled);
  absl::Status ReplayEntry(const PushEntry& push);
  absl::Status ReplayEntry(const DrainEntry& drain);
  absl::Status ReplayEntry(const CommandEntry& command);
  absl::Status ReplayEntry(const MarkEntry&) { return absl::OkStatus(); }
  std::vector<PulledBlock> ReadBlocks() const;

  // Constant after construction.
  const ShardConfig config_;
  const UpdateRule rule_;
  const uint32_t pushed_blocks_;
  const std::shared_ptr<WeightMemory> weight_memory_;  // May be null.
  absl::flat_hash_map<uint32_t, uint32_t> index_by_id_;
  std::vector<std::unique_ptr<HostedBlock>> blocks_;

  // These synchronize themselves.
  OpenRounds open_rounds_;
  Contributors contributors_;
  Pulls pulls_;
  std::atomic<uint32_t> missing_blocks_;  // Without initial values.
  std::atomic<bool> training_begun_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> rebuilt_ = false;
  std::atomic<bool> serving_;
  std::atomic<uint64_t> epoch_ = 0;
  ReplicaLog log_;

  // Held for the whole of a closing, and while states are read that belong to
  // the last one; before every other lock.
  absl::Mutex closing_mu_;
  int64_t closing_ ABSL_GUARDED_BY(closing_mu_) = 0;
  // The closing of what TakeBlocks() gave last.
  std::optional<int64_t> taken_at_ ABSL_GUARDED_BY(closing_mu_);

  mutable absl::Mutex announced_mu_;
  std::shared_ptr<OpenAnnouncement> announced_ ABSL_GUARDED_BY(announced_mu_);

  // Held while an entry is replayed; before every other lock.
  absl::Mutex replay_mu_;
  bool replays_ ABSL_GUARDED_BY(replay_mu_) = false;
  bool filled_ ABSL_GUARDED_BY(replay_mu_) = false;
  uint64_t sequence_ ABSL_GUARDED_BY(replay_mu_) = 0;
  std::function<void(const absl::Status&)> end_replay_
      ABSL_GUARDED_BY(replay_mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_JOB_SHARD_H_
