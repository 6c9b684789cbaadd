#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_HISTORY_CHECKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_HISTORY_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/coordinator/policy/sync_core.h"
#include "tests/services/coordinator/policy/fake_server.h"

namespace paceline {

// Follows what a SyncCore puts out and says what of "always true" (design.md 4)
// it breaks. It keeps every sample's and every push's fate in the plainest way.
class HistoryChecker {
 public:
  // No gap may exceed `max_gap`, if there is one.
  HistoryChecker(const SyncOptions& options, std::optional<int64_t> max_gap);

  // The next call is about this report; the checker takes from it what the
  // outputs do not say.
  void Expect(WorkerId worker, const PushReport& report);
  void Joined(WorkerId worker) { members_.insert(worker); }
  void Sealed() { sealed_ = true; }
  // Another bound from here on.
  void Bound(std::optional<int64_t> max_gap) { max_gap_ = max_gap; }
  // A server's first answer to the fence of `worker`.
  void Answered(WorkerId worker, const FenceAnswer& answer);

  void Observe(const Output& output);
  // After all outputs of a call.
  void EndOfCall(const SyncCore& core);
  // After the end, when no message is under way.
  void EndOfJob(const SyncCore& core, const std::vector<FakeServer>& servers);

  bool finished() const { return finished_; }
  // What was broken first; empty while nothing is.
  const std::string& violation() const { return violation_; }

 private:
  enum class Sample : uint8_t { kUndealt, kOut, kReturned, kCounted };

  struct Push {
    int64_t blocks_lost = 0;  // Taken of a partial push.
    uint32_t samples = 0;     // As the servers know it.
    bool counted = false;
    bool empty = false;  // Discarded, or of no samples.
  };

  void See(const Grant& grant);
  void See(const PlanCommand& plan);
  void See(const CloseCommand& close);
  void See(const FenceCommand& fence);
  void See(const SnapshotCommand& snapshot);
  void See(const Evicted& evicted);
  void See(const PushCounted& counted);
  void See(const Recorded& recorded);
  void See(const Finished& finished);
  template <class Other>
  void See(const Other&) {}
  void Require(bool condition, absl::string_view what);
  void Move(const SampleRange& range, Sample from, Sample to);
  Sample& At(uint32_t epoch, uint32_t position);

  const SyncOptions options_;
  std::optional<int64_t> max_gap_;
  std::string violation_;
  std::vector<Sample> samples_;  // By epoch, then by position.
  std::set<WorkerId> members_;
  std::map<WorkerId, Grant> open_;  // Of members.
  std::map<WorkerId, Grant> lost_;  // Open when lost, unsettled.
  std::map<WorkerId, Iteration> last_iteration_;
  std::map<PushKey, Push> pushes_;
  std::optional<PushReport> report_;
  int64_t missing_answers_ = 0;
  int64_t counted_ = 0;
  Closing closing_ = 0;
  Version version_ = 0;
  int64_t snapshots_ = 0;
  bool last_snapshot_ = false;
  bool sealed_ = false;
  bool finished_ = false;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_HISTORY_CHECKER_H_
