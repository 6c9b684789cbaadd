#ifndef PACELINE_SERVICES_PARAMETER_SERVER_PULLS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_PULLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/parameter_server/block_state.h"
#include "services/parameter_server/shard_config.h"
#include "services/parameter_server/snapshots.h"

namespace paceline {

// Called once, on the thread that caused it and outside all locks, unless the
// pull is cancelled before.
using PullCallback = absl::AnyInvocable<void(absl::StatusOr<PulledBlocks>)>;

// Is told, before the callback is called, the blocks that are as the pull wants
// them already: while the closing that it waits for goes from block to block,
// or before that of what is drained ahead. Called on the thread that does it,
// by several at once; must not call the shard. The callback gets all blocks
// nevertheless, or an error; of a pull that ends for another reason meanwhile,
// blocks may be told after that.
using EarlyBlock = std::function<void(const PulledBlock&)>;

// Who pulls, and for how long the pull may wait.
struct Puller {
  uint64_t owner = 0;        // The stream, for Cancel().
  uint64_t incarnation = 0;  // For a fence.
  absl::Time deadline;       // On the driver's clock.
  uint64_t request = 0;      // The incarnation's number for it; 0: none.
};

// Callbacks that have become due, with what to call them with. The holder calls
// Send() once it has released its locks.
class [[nodiscard]] PullAnswers {
 public:
  void Add(PullCallback callback, absl::StatusOr<PulledBlocks> result) {
    answers_.push_back({std::move(callback), std::move(result)});
  }
  void Send() && {
    for (Answer& answer : answers_) answer.callback(std::move(answer.result));
  }

 private:
  struct Answer {
    PullCallback callback;
    absl::StatusOr<PulledBlocks> result;
  };
  std::vector<Answer> answers_;
};

// The pulls of one job: serves one at once if what it wants is there, and parks
// it otherwise until it is, the deadline passes or somebody ends it. Has no
// clock and no thread; the driver calls Expire() now and then. Thread-safe.
class Pulls {
 public:
  // `read` gives the references to all blocks; it is called without locks.
  using ReadBlocks = std::function<std::vector<PulledBlock>()>;
  // Says whether an incarnation is fenced.
  using IsFenced = std::function<bool(uint64_t incarnation)>;
  // `snapshot_bytes` bounds the snapshots.
  Pulls(const ShardLimits& limits, std::shared_ptr<ByteBudget> snapshot_bytes,
        ReadBlocks read, IsFenced is_fenced);

  Pulls(const Pulls&) = delete;
  Pulls& operator=(const Pulls&) = delete;

  // Wants all blocks once closing number `closing` has been applied and every
  // block has its initial values. UNAVAILABLE: ended, and the message says why;
  // ask again. RESOURCE_EXHAUSTED: too many are parked. ABORTED: fenced.
  void Pull(const Puller& puller, int64_t closing, PullCallback callback,
            EarlyBlock early = nullptr);

  // Those of the parked pulls that `closing` will serve, as far as they want to
  // be told. One that is parked later is not among them.
  std::vector<std::shared_ptr<const EarlyBlock>> WaitingFor(
      int64_t closing) const;

  // Wants a snapshot once it exists. As Pull(), and what AddSnapshot() failed
  // with if it did. NOT_FOUND: that one or a later one was added before, and it
  // is not held, so it will not come.
  void PullSnapshot(const Puller& puller, uint64_t snapshot,
                    PullCallback callback);

  // Every block has its initial values now.
  PullAnswers SetInitialized();

  // `closing` has been applied to every block, or a later one.
  PullAnswers Advance(int64_t closing);

  // Holds a snapshot until it is released; ids ascend. RESOURCE_EXHAUSTED and
  // ALREADY_EXISTS as Snapshots::Add(); `answers` get either.
  absl::Status AddSnapshot(uint64_t snapshot, PulledBlocks blocks,
                           PullAnswers& answers);
  void ReleaseSnapshot(uint64_t snapshot);

  // The largest number of a snapshot so far; and at a server that takes over
  // from another, where there was one.
  uint64_t newest_snapshot() const;
  void SetNewestSnapshot(uint64_t snapshot);

  // These end what is parked with UNAVAILABLE. Past its deadline:
  PullAnswers Expire(absl::Time now);
  // Those of one incarnation, which is fenced:
  PullAnswers Fence(uint64_t incarnation);
  // All of it, and everything to come:
  PullAnswers Stop(absl::string_view reason);

  // Forgets what `owner` parked, without a call. A callback that another thread
  // has already taken out may still come.
  void Cancel(uint64_t owner);

  // UNAVAILABLE with the reason after Stop().
  absl::Status status() const;

  size_t parked() const;
  size_t snapshots() const;

 private:
  struct Parked {
    Puller puller;
    bool of_snapshot;
    int64_t closing;    // Unless of_snapshot.
    uint64_t snapshot;  // If of_snapshot.
    PullCallback callback;
    std::shared_ptr<const EarlyBlock> early = nullptr;
  };
  using Which = absl::FunctionRef<bool(const Parked&)>;

  // Why a pull is not even looked at; OK if it is.
  absl::Status Refusal(const Puller& puller) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Park(Parked parked, PullAnswers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<Parked> TakeOut(Which which) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string WhyParked(const Parked& parked) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PullAnswers End(Which which, absl::string_view reason)
      ABSL_LOCKS_EXCLUDED(mu_);
  PullAnswers ServeDue() ABSL_LOCKS_EXCLUDED(mu_);

  const size_t max_parked_;
  const ReadBlocks read_;
  const IsFenced is_fenced_;

  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  bool initialized_ ABSL_GUARDED_BY(mu_) = false;
  int64_t closing_ ABSL_GUARDED_BY(mu_) = 0;
  Snapshots snapshots_ ABSL_GUARDED_BY(mu_);
  // The largest id that AddSnapshot() was called with.
  uint64_t newest_snapshot_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Parked> parked_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_PULLS_H_
