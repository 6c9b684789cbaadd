#include "tests/services/coordinator/sync/core/history_checker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace paceline {

HistoryChecker::HistoryChecker(const SyncOptions& options,
                               std::optional<int64_t> max_gap)
    : options_(options),
      max_gap_(max_gap),
      most_(options.batch_size *
            (options.batching == Batching::kBalanced ? 4 : 1)),
      limit_(int64_t{options.train_samples} * options.epochs),
      version_(options.start_version) {
  const SamplePosition& start = options.start;
  for (uint32_t epoch = 0; epoch <= start.next_epoch; ++epoch) {
    const uint32_t end =
        epoch < start.next_epoch ? options.train_samples : start.next_begin;
    for (uint32_t i = 0; i < end; ++i) At(epoch, i) = Sample::kCounted;
    counted_ += end;
  }
  for (const SampleRange& open : start.open) {
    Move(open, Sample::kCounted, Sample::kReturned);
    counted_ -= open.size();
  }
}

void HistoryChecker::Taken(const ResumePoint& point) {
  taken_ = true;
  exact_ = point.exact;
  Require(point.snapshot == ++snapshots_, "snapshots are not numbered");
  Require(point.version == version_, "a resume point of another version");
  Require(CheckPosition(point.position, options_.train_samples).ok(),
          "a resume point that cannot be");
  // What is in the weights, as far as anybody can know.
  std::vector<Sample> want = samples_;
  bool gathered = false;
  for (const auto& [key, push] : pushes_) {
    if (!push.counted || push.empty) continue;
    if (InWeights(push)) {
      in_point_.insert(key);
      continue;
    }
    gathered = true;
    for (uint32_t i = push.used.begin; i < push.used.end; ++i) {
      want[IndexOf(push.used.epoch, i)] = Sample::kReturned;
    }
  }
  HistoryChecker resumed(
      [&] {
        SyncOptions options = options_;
        options.start = point.position;
        return options;
      }(),
      std::nullopt);
  resumed.samples_.resize(std::max(want.size(), resumed.samples_.size()));
  want.resize(resumed.samples_.size());
  int64_t counted = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const bool done = want[i] == Sample::kCounted;
    counted += done ? 1 : 0;
    Require(done == (resumed.samples_[i] == Sample::kCounted),
            done ? "a sample that is in the weights is still to be counted"
                 : "a sample is done that is not in the weights");
  }
  Require(point.samples == counted, "a resume point with other samples");
  const bool unsettled =
      std::any_of(lost_.begin(), lost_.end(), [this](const auto& lost) {
        return answers_[lost.first] < options_.servers;
      });
  Require(point.exact == (open_.empty() && !unsettled && !gathered),
          "exact, or not?");
}

bool HistoryChecker::InWeights(const Push& push) const {
  if (!push.round.has_value()) return true;
  const auto it = drained_.find(*push.round);
  return it != drained_.end() && it->second > push.gathered;
}

void HistoryChecker::CheckSnapshot(const std::vector<FakeServer>& servers) {
  for (const auto& [key, push] : pushes_) {
    const bool in_point = in_point_.contains(key);
    for (const FakeServer& server : servers) {
      for (int block = 0; block < server.blocks(); ++block) {
        const bool applied = server.AppliedAtSnapshot(block, key) > 0;
        Require(applied || !in_point, "a snapshot lacks what was counted");
        // What was taken of a push that was lost in part is noise, in any run.
        Require(!applied || in_point || !exact_ || push.blocks_lost > 0,
                "a snapshot that is exact has more than was counted");
      }
    }
  }
}

void HistoryChecker::Expect(WorkerId worker, const PushReport& report) {
  report_ = report;
  Push& push = pushes_[{worker, report.iteration}];
  push.empty = report.discarded || report.samples == 0;
}

void HistoryChecker::Answered(WorkerId worker, const FenceAnswer& answer) {
  --missing_answers_;
  ++answers_[worker];
  if (answer.blocks_taken == 0) return;
  pushes_[{worker, answer.iteration}].samples = answer.samples;
}

void HistoryChecker::Observe(const Output& output) {
  Require(!finished_, "something comes after the end");
  std::visit([&](const auto& o) { See(o); }, output);
}

void HistoryChecker::EndOfCall(const SyncCore& core) {
  report_.reset();
  Require(core.version() == version_, "the version is not what was put out");
  Require(core.closing() == closing_, "the closing is not what was put out");
  Require(core.samples_counted() == counted_, "samples counted are not those");
  Require(core.finished() == finished_, "finished, or not?");
  const std::vector<WorkerId> members = core.Members();
  Require(std::equal(members.begin(), members.end(), members_.begin(),
                     members_.end()),
          "the members are others");
  Require(
      finished_ || members_.empty() || !open_.empty() || missing_answers_ > 0,
      "nobody computes");
}

void HistoryChecker::EndOfJob(const SyncCore& core,
                              const std::vector<FakeServer>& servers) {
  Require(finished_, "the job has not ended");
  Require(sealed_ || counted_ == core.samples_total(), "samples are missing");
  if (taken_) CheckSnapshot(servers);
  for (const FakeServer& server : servers) {
    Require(server.most_rounds() <= kMaxOpenRounds,
            "a server would have refused a round");
    Require(!server.holds_gathered(), "a round's leftovers stay behind");
  }
  for (const auto& [key, push] : pushes_) {
    int64_t applied = 0;
    int64_t blocks = 0;
    for (const FakeServer& server : servers) {
      blocks += server.blocks();
      for (int block = 0; block < server.blocks(); ++block) {
        const int times = server.Applied(block, key);
        Require(times <= 1, "a block took a push twice");
        applied += times;
      }
    }
    const bool whole = push.counted && !push.empty;
    Require(applied == (whole ? blocks : push.blocks_lost),
            whole ? "a block has lost a push" : "a push was applied unseen");
  }
}

void HistoryChecker::See(const Grant& grant) {
  Require(members_.contains(grant.worker), "a grant for no member");
  Require(grant.iteration == ++last_iteration_[grant.worker],
          "iterations are not numbered from 1");
  Require(grant.closing == closing_ && grant.base_version == version_,
          "a grant names another version than that of now");
  Require(grant.range.size() > 0 && grant.range.size() <= most_,
          "a range is no batch");
  Require(!sealed_, "a range is dealt after the seal");
  Require(open_.emplace(grant.worker, grant).second, "two grants are open");
  pushes_[{grant.worker, grant.iteration}];
  for (uint32_t i = grant.range.begin; i < grant.range.end; ++i) {
    Sample& sample = At(grant.range.epoch, i);
    Require(sample == Sample::kUndealt || sample == Sample::kReturned,
            "a sample is dealt that did not come back");
    sample = Sample::kOut;
  }
}

void HistoryChecker::See(const PlanCommand& plan) {
  const auto it = open_.find(plan.worker);
  Require(it != open_.end() && it->second.iteration == plan.iteration &&
              it->second.plan.kind == PushPlan::Kind::kAsk,
          "a plan that nobody asked for");
  if (it != open_.end()) it->second.plan = plan.plan;
}

void HistoryChecker::See(const CloseCommand& close) {
  Require(close.closing == ++closing_, "closings are not numbered from 1");
  Require(!close.rounds.empty(), "a closing of nothing");
  for (const RoundId round : close.rounds) drained_[round] = closing_;
  ++version_;
}

void HistoryChecker::See(const FenceCommand& fence) {
  Require(!members_.contains(fence.worker), "a member is fenced");
  fenced_at_[fence.worker] = closing_;
  missing_answers_ += options_.servers;
}

void HistoryChecker::See(const SnapshotCommand& snapshot) {
  Require(snapshot.snapshot == ++snapshots_, "snapshots are not numbered");
  Require(snapshot.version == version_ && snapshot.samples == counted_ &&
              snapshot.closing == closing_,
          "a snapshot of another moment");
  Require(!last_snapshot_, "a snapshot after the last");
  last_snapshot_ = snapshot.last;
}

void HistoryChecker::See(const Evicted& evicted) {
  Require(members_.erase(evicted.worker) == 1, "no member is evicted");
  if (const auto node = open_.extract(evicted.worker)) {
    lost_.emplace(evicted.worker, node.mapped());
  }
}

void HistoryChecker::See(const PushCounted& counted) {
  const bool is_lost = !members_.contains(counted.worker);
  const auto node = (is_lost ? lost_ : open_).extract(counted.worker);
  Require(!node.empty(), "a push without a grant");
  if (node.empty()) return;
  const Grant& grant = node.mapped();
  Push& push = pushes_[{counted.worker, grant.iteration}];
  Require(!push.counted, "a push is counted twice");
  push.counted = true;
  Require(is_lost == !report_.has_value(), "a push that nobody reported");
  Require(!is_lost || counted.samples == push.samples,
          "a lost push has other samples");
  Require(counted.staleness == version_ - grant.base_version, "staleness");
  const bool immediate = grant.plan.kind == PushPlan::Kind::kImmediate;
  if (immediate && !push.empty) ++version_;
  Require(counted.version == version_, "a push has another version");
  Require(counted.gap >= 0 && (!max_gap_ || counted.gap <= *max_gap_),
          absl::StrCat("gap ", counted.gap, " exceeds the bound"));
  SampleRange used = grant.range;
  used.end = used.begin + std::min(counted.samples, grant.range.size());
  push.used = used;
  if (grant.plan.kind == PushPlan::Kind::kRound) push.round = grant.plan.round;
  // The servers have taken it before the fence.
  push.gathered = is_lost ? fenced_at_.at(counted.worker) : closing_;
  Move(used, Sample::kOut, Sample::kCounted);
  Move({used.epoch, used.end, grant.range.end}, Sample::kOut,
       Sample::kReturned);
  counted_ += used.size();
}

void HistoryChecker::See(const Recorded& recorded) {
  const Decision& decision = recorded.decision;
  if (decision.kind == DecisionKind::kRangeReturned) {
    const auto node = lost_.extract(decision.worker);
    Require(!node.empty(), "a range came back that was not lost");
    if (!node.empty()) {
      Move(node.mapped().range, Sample::kOut, Sample::kReturned);
    }
  }
  if (decision.kind == DecisionKind::kAbandoned) {
    const auto node = open_.extract(decision.worker);
    Require(!node.empty() && node.mapped().iteration == decision.a,
            "an iteration was dropped that was not open");
    if (!node.empty()) {
      Move(node.mapped().range, Sample::kOut, Sample::kReturned);
    }
  }
  if (decision.kind == DecisionKind::kPartialPush) {
    pushes_[{decision.worker, decision.a}].blocks_lost = decision.b;
  }
}

void HistoryChecker::See(const Finished&) {
  finished_ = true;
  Require(last_snapshot_, "the last snapshot is missing");
  Require(open_.empty() && missing_answers_ == 0, "the end is early");
  if (sealed_) return;
  // Nothing before the first sample that was never dealt is left.
  const auto undealt =
      std::find(samples_.begin(), samples_.end(), Sample::kUndealt);
  Require(
      lost_.empty() && counted_ >= limit_ &&
          counted_ == std::count(samples_.begin(), undealt, Sample::kCounted) &&
          counted_ == undealt - samples_.begin(),
      "the end leaves samples uncounted");
}

void HistoryChecker::Require(bool condition, absl::string_view what) {
  if (!condition && violation_.empty()) violation_ = std::string(what);
}

void HistoryChecker::Move(const SampleRange& range, Sample from, Sample to) {
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Sample& sample = At(range.epoch, i);
    Require(sample == from, "a sample is counted or returned twice");
    sample = to;
  }
}

size_t HistoryChecker::IndexOf(uint32_t epoch, uint32_t position) const {
  return static_cast<size_t>(epoch) * options_.train_samples + position;
}

HistoryChecker::Sample& HistoryChecker::At(uint32_t epoch, uint32_t position) {
  const size_t index = IndexOf(epoch, position);
  if (index >= samples_.size()) samples_.resize(index + 1);
  return samples_[index];
}

}  // namespace paceline
