#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_WORKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_WORKER_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "tests/services/coordinator/sync/core/event_queue.h"
#include "tests/services/coordinator/sync/core/fake_server.h"

namespace paceline {

// What a worker's messages do at the coordinator.
struct CoordinatorCalls {
  std::function<void(WorkerId)> heard;
  std::function<void(WorkerId, const PushReport&)> push_done;
  std::function<void(WorkerId, Iteration)> gradient_ready;
  std::function<void(WorkerId, Iteration)> abandoned;
  std::function<void(WorkerId)> departs;
  std::function<void(WorkerId)> stream_breaks;
};

// A worker in virtual time: pulls, computes, pushes block by block to every
// server, and reports when all have acknowledged. It can crash, freeze, get
// stuck and leave at any moment, also in the middle of a push.
class SimulatedWorker {
 public:
  // `step` is what an iteration takes, half more or less.
  SimulatedWorker(WorkerId id, absl::Duration step, absl::Duration heartbeat,
                  EventQueue& queue, Rng& rng, std::vector<FakeServer>& servers,
                  const CoordinatorCalls& coordinator);

  WorkerId id() const { return id_; }
  bool alive() const { return state_ != State::kDead; }

  // From the coordinator.
  void Send(const Grant& grant);
  void Send(const PlanCommand& plan);
  void Send(const RefreshCommand& refresh);
  void Send(const AbandonCommand& abandon);
  void SendEviction();

  // What happens to it. The coordinator may see a crash as a broken stream, or
  // nothing until the lease ends. A stuck worker computes for `duration` and
  // goes on.
  void Crash();
  void Freeze(absl::Duration duration);
  void GetStuck(absl::Duration duration) { stuck_for_ = duration; }
  void Depart();
  // `fault` happens between two blocks of its next push.
  void InNextPush(std::function<void()> fault) { in_push_ = std::move(fault); }

 private:
  enum class State { kRunning, kFrozen, kDead };

  // Runs `action` now, on waking, or never.
  void Act(EventQueue::Callback action);
  void Beat();
  void Pull(const Grant& grant, size_t server);
  void Compute(const Grant& grant);
  // `samples` of it; unless the iteration was ended otherwise before.
  void Computed(const Grant& grant, uint32_t samples);
  void Push(const Grant& grant, uint32_t samples);
  void PushBlock(const Grant& grant, uint32_t samples, size_t server,
                 int block);
  void Acknowledged(const Grant& grant, uint32_t samples);
  void Report(const PushReport& report);

  const WorkerId id_;
  const absl::Duration step_;
  const absl::Duration heartbeat_;
  EventQueue& queue_;
  Rng& rng_;
  std::vector<FakeServer>& servers_;
  const CoordinatorCalls coordinator_;

  State state_ = State::kRunning;
  // Nothing is pushed yet of this grant, which may still be dropped.
  std::optional<Grant> open_;
  bool asks_ = false;  // Its plan is awaited, for so many samples.
  uint32_t ready_samples_ = 0;
  std::vector<EventQueue::Callback> when_awake_;
  absl::Duration stuck_for_;
  std::function<void()> in_push_;
  int missing_acks_ = 0;
  Link from_coordinator_;
  Link to_coordinator_;
  std::vector<std::unique_ptr<Link>> to_servers_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_WORKER_H_
