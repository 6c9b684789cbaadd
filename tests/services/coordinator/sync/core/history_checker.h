#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/coordinator/run/course/course.h"
#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"
#include "tests/services/coordinator/sync/core/part_owners.h"
#include "tests/services/coordinator/sync/core/server_ledger.h"

namespace paceline {

// The largest gap that a paradigm allows, by FormatParadigm(); others allow
// any.
using GapBounds = std::map<std::string, int64_t>;

// Follows a virtual cluster and says which promise the sync core breaks. It
// keeps every sample's and every push's fate in the plainest way, and what each
// server holds.
class HistoryChecker : public ClusterObserver {
 public:
  // `bounds` outlives it; null: no gap is too large.
  explicit HistoryChecker(const ClusterSpec& spec,
                          const GapBounds* bounds = nullptr);

  void Joined(Nanos at, WorkerId worker, size_t index) override;
  void Given(Nanos at, const RunInput& input) override;
  void Decided(Nanos at, const RunOutput& output) override;
  void Stepped(Nanos at, const RunCourse& course,
               const absl::Status& status) override;
  void BlockTaken(Nanos at, int server, const Grant& grant,
                  uint32_t samples) override;
  void Performed(Nanos at, int server, const NumberedCommand& command) override;

  // What was broken first; empty while nothing is.
  const std::string& violation() const { return violation_; }
  // The same after the end, when nothing is under way any more.
  std::string Verdict();

  // Everything is counted, or was to be counted no more.
  bool finished() const { return finished_; }
  // From where the job could be taken up again, in their order.
  const std::vector<ResumePoint>& points() const { return points_; }

 private:
  enum class Sample : uint8_t {
    kUndealt,
    kReserved,
    kOut,
    kReturned,
    kCounted
  };
  using Lot = std::deque<SampleRange>;

  struct Push {
    SampleRanges used;
    // Where it was gathered, and the last closing before it surely was; no
    // round: it went into the weights at once.
    std::optional<RoundId> round;
    Closing gathered = 0;
    int64_t blocks = 0;       // Taken.
    int64_t blocks_lost = 0;  // As the core says of a partial push.
    uint32_t samples = 0;     // As the servers know it.
    bool counted = false;
    bool empty = false;      // Discarded, or of no samples.
    bool discarded = false;  // As is reported.
  };

  struct Fence {
    WorkerId worker;
    std::set<int> missing;  // Servers.
  };

  struct ClosingRounds {
    size_t rounds = 0;
    std::set<int> missing;  // Servers.
  };

  // What a snapshot holds according to its resume point, and what not.
  struct Contents {
    std::vector<PushKey> in;
    std::vector<PushKey> out;  // Only if the point is exact.
  };

  // What of the samples is counted there, and what came back.
  std::vector<Sample> SamplesAt(const SamplePosition& position) const;
  // Every sample is done in the point that is counted in `want`.
  void CompareSamples(const ResumePoint& point, std::vector<Sample> want);
  // The fate of all lost grants is known.
  bool Settled() const;
  // Counted, and drained if it went into a round.
  bool InWeights(const Push& push) const;
  // No push was counted that waits in one of the rounds.
  bool HoldNothing(absl::Span<const RoundId> rounds) const;
  // The server holds what the resume point of its snapshot says.
  void CheckSnapshot(const ServerLedger& server, int64_t snapshot);

  // How many samples lie before the first one that was never dealt.
  int64_t Dealt() const { return static_cast<int64_t>(samples_.size()); }
  // A range is the front of the worker's lot, or a new one.
  void CheckRange(WorkerId worker, const SampleRange& range);
  // Those of the grant come back.
  void Return(const Grant& grant);
  // What was made of them was not finite: so many of them are counted, as it is
  // for the second time.
  uint32_t Doubt(const Grant& grant);
  // What is newly reserved is wanted, and nobody else's.
  void CheckReserved(const Grant& grant);
  // The lot is no more; its samples are dealt again.
  void ReturnLot(WorkerId worker);
  // Samples that nobody has yet, in either way, are dealt or reserved.
  void Take(const SampleRange& range, Sample to);
  // What the job's new limit has withdrawn, and was dealt last, is undealt.
  void TakeBackUndealt();
  // Nobody waits for samples while there are any that nobody computes.
  void CheckNobodyStarves(const SyncCore& core);
  // What stands for that where each has a part.
  bool AnyFor(WorkerId worker);
  // Whose they are, once the first members are there.
  PartOwners& Parts();
  // The samples are the worker's own, nobody's, or dealt again for a doubt.
  void CheckPart(WorkerId worker, const SampleRange& range);
  // Nobody has it, and it is to be counted.
  bool Lies(uint32_t epoch, uint32_t position);

  // Each server can take what was planned, whatever comes first.
  void CheckRounds();
  // What was announced before the commands to come is there, at the latest.
  void Hear(int server);

  void See(const Grant& grant);
  void See(const DropReserved& drop);
  void See(const PlanCommand& plan);
  void See(const ExtendCommand& extend);
  void See(const CloseCommand& close);
  void See(const AnnounceCommand& announce);
  void See(const SnapshotCommand& snapshot);
  void See(const NumberedCommand& command);
  void See(const CheckpointChanged& changed);
  void See(const BeginWork& begin);
  void See(const MemberLetGo& gone);
  void See(const Evicted& evicted);
  void See(const PushCounted& counted);
  void See(const Recorded& recorded);
  void See(const Switched& switched);
  // The paradigm that is in charge now.
  void SetBoundOf(const std::string& paradigm);
  void See(const TrainingStarted&) { training_ = true; }
  void See(const TrainingEnded& ended);
  void See(const TrainingResumed& resumed);
  // What was lost while nothing was dealt came back without a word.
  void ReturnLost();
  void See(const RunEnded&) { ended_ = true; }
  template <class Other>
  void See(const Other&) {}
  void Require(bool condition, absl::string_view what);
  void Move(const SampleRange& range, Sample from, Sample to);
  size_t IndexOf(uint32_t epoch, uint32_t position) const;
  Sample& At(uint32_t epoch, uint32_t position);

  const ClusterSpec& spec_;
  const GapBounds* const bounds_;
  std::optional<int64_t> max_gap_;
  bool switching_ = false;  // With a closing.
  std::string violation_;
  std::vector<Sample> samples_;      // By epoch and position, as far as seen.
  std::optional<PartOwners> parts_;  // If each has a part.
  bool parts_begun_ = false;
  std::set<WorkerId> workers_;  // No evaluators.
  std::set<WorkerId> members_;
  std::map<WorkerId, SampleWishes> wishes_;
  std::map<WorkerId, Lot> lots_;  // Not empty; of members.
  Lot withdrawn_;                 // All of them, in this step.
  // What was announced after which command.
  std::vector<std::pair<uint64_t, AnnounceCommand>> announced_;
  uint64_t sequence_ = 0;  // Of the last command.
  struct Heard {
    uint64_t performed = 1;  // Its last command; they host from the beginning.
    size_t announced = 0;    // How many of these it knows.
  };
  std::map<int, Heard> heard_;      // By server.
  std::map<WorkerId, Grant> open_;  // Of members.
  std::map<WorkerId, Grant> lost_;  // Open when lost, unsettled.
  std::set<size_t> doubted_;        // Samples that were dealt again for that.
  SampleRanges back_;  // Of one that is: nobody has said that they came back.
  std::map<WorkerId, Iteration> last_iteration_;
  std::map<WorkerId, Closing> fenced_at_;
  std::map<uint64_t, Fence> unanswered_;  // By the number of the command.
  std::map<uint64_t, ClosingRounds> closing_rounds_;  // Not all performed.
  std::map<RoundId, Closing> drained_;                // By which closing, last.
  std::map<PushKey, Push> pushes_;
  std::vector<ServerLedger> servers_;
  std::vector<ResumePoint> points_;
  std::map<int64_t, Contents> contents_;  // By snapshot.
  std::optional<WorkerId> reporter_;      // Who reports a push in this step.
  bool limit_changes_ = false;            // In this step.
  bool limit_changed_ = false;            // Ever.
  int64_t blocks_ = 0;                    // Of the model.
  uint32_t most_;                         // Samples of a range.
  int64_t limit_;                         // Samples of the job.
  int64_t total_ = 0;                     // As the core says.
  int64_t counted_ = 0;
  Closing closing_ = 0;
  // That the paradigm may have open at a server, as long as it is the only one
  // and no worker is gone.
  size_t rounds_;
  bool calm_ = true;
  Version version_;
  int64_t snapshots_ = 0;
  bool last_snapshot_ = false;
  bool training_ = false;
  bool sealed_ = false;
  bool finished_ = false;
  std::set<WorkerId> late_;      // Began after that.
  std::set<WorkerId> taken_up_;  // Who were that until this step.
  bool ended_ = false;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_HISTORY_CHECKER_H_
