#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/core/fake_server.h"

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
  // There are so many samples to count from here on.
  void Limited(int64_t samples) { limit_ = samples; }
  // Batches may be balanced from here on.
  void Balanced() { most_ = 4 * options_.batch_size; }
  // The core has said from where the job could go on.
  void Taken(const ResumePoint& point);
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
    SampleRange used;
    // Where it was gathered, and the last closing before it surely was; no
    // round: it went into the weights at once.
    std::optional<RoundId> round;
    Closing gathered = 0;
    int64_t blocks_lost = 0;  // Taken of a partial push.
    uint32_t samples = 0;     // As the servers know it.
    bool counted = false;
    bool empty = false;  // Discarded, or of no samples.
  };

  // Counted, and drained if it went into a round.
  bool InWeights(const Push& push) const;
  // The servers hold what the resume point says, when it was taken.
  void CheckSnapshot(const std::vector<FakeServer>& servers);

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
  size_t IndexOf(uint32_t epoch, uint32_t position) const;
  Sample& At(uint32_t epoch, uint32_t position);

  const SyncOptions options_;
  std::optional<int64_t> max_gap_;
  std::string violation_;
  std::vector<Sample> samples_;  // By epoch and position, as far as seen.
  std::set<WorkerId> members_;
  std::map<WorkerId, Grant> open_;  // Of members.
  std::map<WorkerId, Grant> lost_;  // Open when lost, unsettled.
  std::map<WorkerId, Iteration> last_iteration_;
  std::map<WorkerId, Closing> fenced_at_;
  std::map<WorkerId, int> answers_;
  std::map<RoundId, Closing> drained_;  // By which closing, last.
  std::map<PushKey, Push> pushes_;
  std::set<PushKey> in_point_;  // In the weights, says the resume point.
  bool taken_ = false;
  bool exact_ = false;
  uint32_t most_;  // Samples of a range.
  int64_t limit_;  // Samples of the job.
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

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_
