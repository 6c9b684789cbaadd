#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_FAKE_SERVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_FAKE_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "services/coordinator/sync/core/sync_messages.h"

namespace paceline {

// One push: whose, and which.
using PushKey = std::pair<WorkerId, Iteration>;

// A parameter server whose weights are counters: how many times each push was
// applied to each block. Rounds gather pushes, closings drain them, fences
// refuse them, as design.md 5 says.
class FakeServer {
 public:
  FakeServer(int number, int blocks) : number_(number), blocks_(blocks) {}

  // Takes one block of a push of `samples` samples. False if the worker is
  // fenced. A block taken already is not taken twice.
  bool Take(int block, const PushKey& push, const PushPlan& plan,
            uint32_t samples);

  // REQUIRES: closings come by number, none left out.
  void Close(const CloseCommand& close);

  // Refuses the worker from now on and says what was taken of its last push.
  FenceAnswer Fence(WorkerId worker);

  // Calls back when `closing` is applied, at once if it is.
  void WhenClosed(Closing closing, std::function<void()> callback);

  // Keeps what is applied by now.
  void Snapshot() { snapshot_ = applied_; }

  // How often the push was applied to the block.
  int Applied(int block, const PushKey& push) const;
  // Before the snapshot.
  int AppliedAtSnapshot(int block, const PushKey& push) const;
  bool holds_gathered() const { return !gathered_.empty(); }
  // The most rounds that it had accumulators for at once. A real one refuses
  // more than kMaxOpenRounds.
  size_t most_rounds() const { return most_rounds_; }
  int blocks() const { return blocks_; }

 private:
  struct Last {
    Iteration iteration = 0;
    uint32_t samples = 0;
    std::set<int> blocks;
  };

  using Applications = std::map<std::pair<int, PushKey>, int>;

  const int number_;
  const int blocks_;
  Closing closing_ = 0;
  Applications applied_;
  Applications snapshot_;
  std::map<RoundId, std::vector<std::pair<int, PushKey>>> gathered_;
  size_t most_rounds_ = 0;
  std::map<WorkerId, Last> last_;
  std::set<WorkerId> fenced_;
  std::multimap<Closing, std::function<void()>> parked_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_FAKE_SERVER_H_
