#include "tests/services/coordinator/sync/core/history_checker.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/job/rule_memory.h"
#include "common/micro_batches.h"
#include "common/round_limit.h"
#include "services/simulator/virtual_worker.h"

namespace paceline {

HistoryChecker::HistoryChecker(const ClusterSpec& spec, const GapBounds* bounds)
    : spec_(spec),
      bounds_(bounds),
      most_(spec.run.batch_size *
            (spec.settings.batching == Batching::kBalanced ||
                     Steals(spec.run.paradigm)
                 ? 4
                 : 1)),
      limit_(SamplesWanted(spec.settings.stop, spec.train_samples)),
      rounds_(
          MemoryOf(spec.run.paradigm, static_cast<int64_t>(spec.workers.size()))
              .rounds),
      version_(spec.start.version) {
  for (int i = 0; i < spec.servers; ++i) {
    servers_.emplace_back(spec.server_blocks.empty() ? 1
                                                     : spec.server_blocks[i]);
    blocks_ += servers_.back().blocks();
  }
  if (spec.run.data_assignment == DataAssignment::kStatic) {
    parts_.emplace(spec.train_samples);
  }
  samples_ = SamplesAt(spec.start.position);
  counted_ = std::count(samples_.begin(), samples_.end(), Sample::kCounted);
  Given(0, SwitchRun{spec.run.paradigm, ""});
  calm_ = spec.switches.empty();
}

std::vector<HistoryChecker::Sample> HistoryChecker::SamplesAt(
    const SamplePosition& position) const {
  std::vector<Sample> samples(IndexOf(position.next_epoch, position.next_begin),
                              Sample::kCounted);
  for (const SampleRange& open : position.open) {
    for (uint32_t i = open.begin; i < open.end; ++i) {
      samples[IndexOf(open.epoch, i)] = Sample::kReturned;
    }
  }
  return samples;
}

void HistoryChecker::Joined(Nanos /*at*/, WorkerId worker, size_t index) {
  workers_.insert(worker);
  wishes_[worker] = spec_.workers[index].wishes;
}

void HistoryChecker::Given(Nanos /*at*/, const RunInput& input) {
  reporter_.reset();
  withdrawn_.clear();
  taken_up_.clear();
  if (const auto* pushed = std::get_if<WorkerPushed>(&input)) {
    const PushReport& report = pushed->report;
    reporter_ = pushed->worker;
    Push& push = pushes_[{pushed->worker, report.iteration}];
    push.empty = report.discarded || report.samples == 0;
    push.discarded = report.discarded;
  } else if (const auto* update = std::get_if<UpdateRun>(&input)) {
    limit_ = SamplesWanted(update->settings.stop, spec_.train_samples);
    limit_changes_ = limit_changed_ = true;
    if (update->settings.batching == Batching::kBalanced) {
      most_ = 4 * spec_.run.batch_size;
    }
  } else if (const auto* change = std::get_if<SwitchRun>(&input)) {
    calm_ = false;
    max_gap_.reset();
    if (Steals(change->paradigm)) most_ = 4 * spec_.run.batch_size;
    // Else from when it takes over.
    if (!change->with_closing) SetBoundOf(FormatParadigm(change->paradigm));
    switching_ = change->with_closing;
  } else if (const auto* done = std::get_if<CommandDone>(&input)) {
    const auto close = closing_rounds_.find(done->sequence);
    if (close != closing_rounds_.end()) {
      close->second.missing.erase(done->shard);
      if (close->second.missing.empty()) closing_rounds_.erase(close);
    }
    const auto fence = unanswered_.find(done->sequence);
    if (fence == unanswered_.end()) return;
    fence->second.missing.erase(done->shard);
    if (fence->second.missing.empty()) unanswered_.erase(fence);
  }
}

void HistoryChecker::SetBoundOf(const std::string& paradigm) {
  if (bounds_ == nullptr) return;
  const auto bound = bounds_->find(paradigm);
  if (bound != bounds_->end()) max_gap_ = bound->second;
}

void HistoryChecker::See(const Switched& switched) {
  if (std::exchange(switching_, false)) SetBoundOf(switched.to);
}

void HistoryChecker::Decided(Nanos /*at*/, const RunOutput& output) {
  std::visit(
      [&](const auto& what) {
        using What = std::remove_cvref_t<decltype(what)>;
        if constexpr (std::is_constructible_v<Output, What>) {
          Require(!finished_, "something comes after the end");
        }
        See(what);
      },
      output);
}

void HistoryChecker::Stepped(Nanos /*at*/, const RunCourse& course,
                             const absl::Status& /*status*/) {
  if (course.core() == nullptr) return;
  const SyncCore& core = *course.core();
  if (std::exchange(limit_changes_, false)) TakeBackUndealt();
  total_ = core.samples_total();  // What ends the run may just have changed it.
  if (ended_) return;
  Require(core.version() == version_, "the version is not what was put out");
  Require(core.closing() == closing_, "the closing is not what was put out");
  Require(core.samples_counted() == counted_, "samples counted are not those");
  Require(core.finished() == finished_, "finished, or not?");
  // With parts, a limit that was lowered may be below what was taken of it.
  Require(finished_ ||
              (parts_ ? total_ == limit_ || (limit_changed_ && total_ > limit_)
                      : total_ == std::max(limit_, Dealt())),
          "samples are to be counted that nobody was dealt");
  Require(lots_.empty() || !(sealed_ || finished_),
          "what is dealt no more is still reserved");
  CheckNobodyStarves(core);
  const std::vector<WorkerId> members = core.Members();
  Require(std::equal(members.begin(), members.end(), members_.begin(),
                     members_.end()),
          "the members are others");
  // Where there is room for no other round, nobody can until a server has
  // performed a closing.
  size_t closing = 0;
  for (const auto& [sequence, close] : closing_rounds_) closing += close.rounds;
  Require(finished_ || members_.empty() || !open_.empty() ||
              !unanswered_.empty() || closing >= kMaxOpenRounds,
          "nobody computes");
}

void HistoryChecker::BlockTaken(Nanos /*at*/, int server, const Grant& grant,
                                uint32_t samples) {
  Hear(server);
  ServerLedger& ledger = servers_[server];
  Require(!ledger.fenced(grant.worker), "a block is taken after the fence");
  ledger.Take({grant.worker, grant.iteration}, grant.plan);
  Require(!calm_ || ledger.gathered().size() <= rounds_,
          absl::StrCat("a server holds ", ledger.gathered().size(), " rounds"));
  Push& push = pushes_[{grant.worker, grant.iteration}];
  push.samples = samples;
  ++push.blocks;
}

void HistoryChecker::Performed(Nanos /*at*/, int server,
                               const NumberedCommand& command) {
  Hear(server);
  heard_[server].performed = command.sequence;
  ServerLedger& ledger = servers_[server];
  if (const auto* close = std::get_if<CloseCommand>(&command.command)) {
    Require(close->closing == ledger.closing() + 1, "a closing is left out");
    ledger.Close(*close);
  } else if (const auto* fence =
                 std::get_if<FenceIncarnation>(&command.command)) {
    ledger.Fence(WorkerId{WorkerOf(fence->incarnation)});
  } else if (const auto* write = std::get_if<WriteBlocks>(&command.command)) {
    CheckSnapshot(ledger, write->snapshot);
  }
}

void HistoryChecker::Hear(int server) {
  Heard& heard = heard_[server];
  for (; heard.announced < announced_.size(); ++heard.announced) {
    const auto& [after, announce] = announced_[heard.announced];
    if (after > heard.performed) return;
    servers_[server].Announce(announce);
  }
}

std::string HistoryChecker::Verdict() {
  if (!training_) return violation_;  // Too few came in time.
  Require(finished_, "the job has not ended");
  Require(sealed_ || counted_ == total_, "samples are missing");
  for (const ServerLedger& server : servers_) {
    Require(server.gathered().empty(), "a round's leftovers stay behind");
  }
  for (const auto& [key, push] : pushes_) {
    const bool whole = push.counted && !push.empty;
    int64_t applied = 0;
    for (const ServerLedger& server : servers_) {
      applied += server.Applied(key);
      Require(!whole || server.Applied(key) >= server.blocks(),
              "a block has lost a push");
      Require(server.Applied(key) <= server.blocks(),
              "a block took a push twice");
    }
    Require(whole || applied == push.blocks_lost, "a push was applied unseen");
  }
  return violation_;
}

bool HistoryChecker::Settled() const {
  return std::none_of(
      unanswered_.begin(), unanswered_.end(),
      [&](const auto& fence) { return lost_.contains(fence.second.worker); });
}

bool HistoryChecker::HoldNothing(absl::Span<const RoundId> rounds) const {
  return std::ranges::none_of(pushes_, [&](const auto& entry) {
    const Push& push = entry.second;
    return push.counted && !push.empty && push.round.has_value() &&
           std::ranges::find(rounds, *push.round) != rounds.end() &&
           !InWeights(push);
  });
}

bool HistoryChecker::InWeights(const Push& push) const {
  if (!push.round.has_value()) return true;
  const auto it = drained_.find(*push.round);
  return it != drained_.end() && it->second > push.gathered;
}

void HistoryChecker::See(const CheckpointChanged& changed) {
  if (changed.state != CheckpointChanged::State::kWriting) return;
  const ResumePoint& point = changed.order.point;
  points_.push_back(point);
  Require(point.snapshot > snapshots_, "snapshots are not numbered");
  snapshots_ = point.snapshot;
  Require(point.version == version_, "a resume point of another version");
  Require(CheckPosition(point.position, spec_.train_samples).ok(),
          "a resume point that cannot be");
  // What is in the weights, as far as anybody can know.
  Contents& contents = contents_[point.snapshot];
  std::vector<Sample> want = samples_;
  bool gathered = false;
  for (const auto& [key, push] : pushes_) {
    const bool counts = push.counted && !push.empty;
    (counts && InWeights(push) ? contents.in : contents.out).push_back(key);
    if (!counts || InWeights(push)) continue;
    gathered = true;
    for (const SampleRange& used : push.used) {
      for (uint32_t i = used.begin; i < used.end; ++i) {
        want[IndexOf(used.epoch, i)] = Sample::kReturned;
      }
    }
  }
  CompareSamples(point, std::move(want));
  Require(point.exact == (open_.empty() && Settled() && !gathered),
          "exact, or not?");
  if (!point.exact) contents.out.clear();
}

void HistoryChecker::CompareSamples(const ResumePoint& point,
                                    std::vector<Sample> want) {
  std::vector<Sample> resumed = SamplesAt(point.position);
  resumed.resize(std::max(want.size(), resumed.size()));
  want.resize(resumed.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const bool done = want[i] == Sample::kCounted;
    Require(done == (resumed[i] == Sample::kCounted),
            done ? "a sample that is in the weights is still to be counted"
                 : "a sample is done that is not in the weights");
  }
  Require(
      point.samples == std::count(want.begin(), want.end(), Sample::kCounted),
      "a resume point with other samples");
}

void HistoryChecker::CheckSnapshot(const ServerLedger& server,
                                   int64_t snapshot) {
  const Contents& contents = contents_.at(snapshot);
  for (const PushKey& push : contents.in) {
    Require(server.Applied(push) == server.blocks(),
            "a snapshot lacks what was counted");
  }
  for (const PushKey& push : contents.out) {
    // What was taken of a push that was lost in part is noise, in any run.
    Require(server.Applied(push) == 0 || pushes_[push].blocks_lost > 0,
            "a snapshot that is exact has more than was counted");
  }
}

void HistoryChecker::See(const Grant& grant) {
  Require(members_.contains(grant.worker), "a grant for no member");
  Require(grant.iteration == ++last_iteration_[grant.worker],
          "iterations are not numbered from 1");
  Require(grant.closing == closing_ && grant.base_version == version_,
          "a grant names another version than that of now");
  Require(!sealed_, "a range is dealt after the seal");
  Require(open_.emplace(grant.worker, grant).second, "two grants are open");
  pushes_[{grant.worker, grant.iteration}];
  CheckPart(grant.worker, grant.range);
  CheckRange(grant.worker, grant.range);
  CheckReserved(grant);
  if (grant.plan.kind == PushPlan::Kind::kRound) CheckRounds();
}

void HistoryChecker::See(const ExtendCommand& extend) {
  const auto it = open_.find(extend.worker);
  Require(it != open_.end() && it->second.iteration == extend.iteration &&
              it->second.plan.kind == PushPlan::Kind::kAsk,
          "an iteration is extended that nobody asks about");
  if (it == open_.end()) return;
  Require(wishes_[extend.worker].extends, "who cannot extend is told to");
  Require(!sealed_, "an extension after the seal");
  CheckRange(extend.worker, extend.range);
  it->second.extensions.push_back(extend.range);
}

void HistoryChecker::CheckRange(WorkerId worker, const SampleRange& range) {
  Require(range.size() > 0 && range.size() <= most_, "a range is no batch");
  const SampleWishes& wishes = wishes_[worker];
  const uint32_t piece = MicroBatchLimit(spec_.run.batch_size,
                                         spec_.micro_batch, wishes.micro_batch);
  const auto it = lots_.find(worker);
  if (it == lots_.end()) {
    // What comes back is as large as it was for others.
    const bool returned = At(range.epoch, range.begin) == Sample::kReturned;
    Require(wishes.micro_batch == 0 || returned || range.size() % piece == 0 ||
                range.end == spec_.train_samples || parts_,
            "a grant is not of whole micro-batches");
    return Take(range, Sample::kOut);
  }
  SampleRange& front = it->second.front();
  Require(range.epoch == front.epoch && range.begin == front.begin &&
              range.end <= front.end,
          "a range is dealt that is not the front of the lot");
  Require(range.end == front.end || range.size() % piece == 0,
          "a micro-batch of a lot is divided");
  Move(range, Sample::kReserved, Sample::kOut);
  front.begin = range.end;
  if (front.begin >= front.end) it->second.pop_front();
  if (it->second.empty()) lots_.erase(it);
}

void HistoryChecker::CheckReserved(const Grant& grant) {
  if (grant.reserved.empty()) return;
  Lot& lot = lots_[grant.worker];
  for (const SampleRange& range : grant.reserved) {
    Require(range.size() > 0 && range.size() <= most_, "a lot has no batches");
    CheckPart(grant.worker, range);
    lot.push_back(range);
    Take(range, Sample::kReserved);
  }
  // The last range makes it enough.
  int64_t before = -static_cast<int64_t>(lot.back().size());
  for (const SampleRange& range : lot) before += range.size();
  Require(before < wishes_[grant.worker].lookahead,
          "more is reserved than wanted");
}

void HistoryChecker::See(const DropReserved& drop) {
  Require(lots_.contains(drop.worker), "a lot is withdrawn that nobody has");
  ReturnLot(drop.worker);
}

void HistoryChecker::ReturnLot(WorkerId worker) {
  const auto node = lots_.extract(worker);
  if (node.empty()) return;
  for (const SampleRange& range : node.mapped()) {
    Move(range, Sample::kReserved, Sample::kReturned);
    withdrawn_.push_back(range);
  }
}

void HistoryChecker::Take(const SampleRange& range, Sample to) {
  Require(parts_ || static_cast<int64_t>(IndexOf(range.epoch, range.begin)) <
                        std::max(limit_, Dealt()),
          "more is dealt than there is to count");
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Sample& sample = At(range.epoch, i);
    Require(sample == Sample::kUndealt || sample == Sample::kReturned,
            "a sample is dealt that did not come back");
    sample = to;
  }
}

PartOwners& HistoryChecker::Parts() {
  if (!std::exchange(parts_begun_, true)) {
    parts_->GoOn(spec_.start.position, members_);
  }
  return *parts_;
}

void HistoryChecker::CheckPart(WorkerId worker, const SampleRange& range) {
  if (!parts_) return Require(range.parts == 0, "an epoch has parts");
  Require(Parts().Dealt(range, members_), "an epoch has other parts");
  if (!violation_.empty()) return;
  for (uint32_t i = range.begin; i < range.end; ++i) {
    if (doubted_.contains(IndexOf(range.epoch, i))) continue;
    const std::optional<WorkerId> owner = Parts().OwnerOf(range.epoch, i);
    Require(owner == worker || !owner || !members_.contains(*owner),
            "a sample of another one's part is dealt");
    Require(Parts().Wanted(range.epoch, i, limit_),
            "more is dealt than there is to count");
  }
}

bool HistoryChecker::Lies(uint32_t epoch, uint32_t position) {
  const size_t index = IndexOf(epoch, position);
  const Sample sample =
      index < samples_.size() ? samples_[index] : Sample::kUndealt;
  if (sample == Sample::kReturned && doubted_.contains(index)) return true;
  return (sample == Sample::kReturned || sample == Sample::kUndealt) &&
         Parts().Wanted(epoch, position, limit_);
}

bool HistoryChecker::AnyFor(WorkerId worker) {
  const uint32_t size = spec_.train_samples;
  const auto place = std::distance(members_.begin(), members_.find(worker));
  if (place < std::min<int64_t>(limit_ - Parts().begun(), size)) return true;
  for (int64_t index = 0; index < Parts().begun(); ++index) {
    const auto epoch = static_cast<uint32_t>(index / size);
    const auto position = static_cast<uint32_t>(index % size);
    if (!Lies(epoch, position)) continue;
    if (doubted_.contains(static_cast<size_t>(index))) return true;
    const std::optional<WorkerId> owner = Parts().OwnerOf(epoch, position);
    if (owner == worker || !owner || !members_.contains(*owner)) return true;
  }
  return false;
}

void HistoryChecker::TakeBackUndealt() {
  if (parts_) return;
  std::ranges::sort(withdrawn_, std::greater<>());
  for (const SampleRange& range : withdrawn_) {
    const size_t begin = IndexOf(range.epoch, range.begin);
    if (IndexOf(range.epoch, range.end) != samples_.size()) continue;
    if (static_cast<int64_t>(begin) >= limit_) samples_.resize(begin);
  }
}

void HistoryChecker::CheckNobodyStarves(const SyncCore& core) {
  // Only under ASP there is no other reason to wait.
  if (sealed_ || finished_ || core.policy().Describe() != "asp") return;
  if (parts_) {
    for (const WorkerId worker : members_) {
      Require(open_.contains(worker) || !AnyFor(worker),
              "somebody waits although there are samples for it");
    }
    return;
  }
  const bool all_compute = open_.size() == members_.size();
  Require(all_compute || (lots_.empty() && Dealt() >= limit_ &&
                          std::ranges::find(samples_, Sample::kReturned) ==
                              samples_.end()),
          "somebody waits although there are samples that nobody computes");
}

void HistoryChecker::CheckRounds() {
  std::set<RoundId> planned;
  for (const auto* grants : {&open_, &lost_}) {
    for (const auto& [worker, grant] : *grants) {
      if (grant.plan.kind != PushPlan::Kind::kRound) continue;
      planned.insert(grant.plan.round);
    }
  }
  for (const ServerLedger& server : servers_) {
    size_t open = server.gathered().size();
    for (const RoundId round : planned) {
      open += server.gathered().contains(round) ? 0 : 1;
    }
    Require(open <= kMaxOpenRounds, "a server might have to refuse a round");
  }
}

void HistoryChecker::See(const PlanCommand& plan) {
  const auto it = open_.find(plan.worker);
  Require(it != open_.end() && it->second.iteration == plan.iteration &&
              it->second.plan.kind == PushPlan::Kind::kAsk,
          "a plan that nobody asked for");
  if (it != open_.end()) it->second.plan = plan.plan;
  if (plan.plan.kind == PushPlan::Kind::kRound) CheckRounds();
}

void HistoryChecker::See(const CloseCommand& close) {
  Require(close.closing == ++closing_, "closings are not numbered from 1");
  Require(!close.rounds.empty(), "a closing of nothing");
  Require(close.updates || HoldNothing(close.rounds),
          "an update is not counted");
  for (const RoundId round : close.rounds) drained_[round] = closing_;
  if (close.updates) ++version_;
}

void HistoryChecker::See(const AnnounceCommand& announce) {
  Require(announce.closing == closing_ + 1, "no next closing is announced");
  Require(announce.gradients > 0, "a closing of nothing is announced");
  announced_.emplace_back(sequence_, announce);
}

void HistoryChecker::See(const SnapshotCommand& snapshot) {
  Require(snapshot.snapshot > snapshots_, "snapshots are not numbered");
  snapshots_ = snapshot.snapshot;
  Require(snapshot.version == version_ && snapshot.samples == counted_ &&
              snapshot.closing == closing_,
          "a snapshot of another moment");
  Require(!last_snapshot_, "a snapshot after the last");
  last_snapshot_ = snapshot.last;
}

void HistoryChecker::See(const NumberedCommand& command) {
  sequence_ = command.sequence;
  if (const auto* fence = std::get_if<FenceIncarnation>(&command.command)) {
    const WorkerId worker{WorkerOf(fence->incarnation)};
    Require(!members_.contains(worker), "a member is fenced");
    calm_ = false;
    fenced_at_[worker] = closing_;
    Fence& unanswered = unanswered_[command.sequence];
    unanswered.worker = worker;
    for (int i = 0; i < spec_.servers; ++i) unanswered.missing.insert(i);
    return;
  }
  const auto* const close = std::get_if<CloseCommand>(&command.command);
  const auto* const snapshot = std::get_if<SnapshotCommand>(&command.command);
  if (close == nullptr && snapshot == nullptr) return;
  Require(!finished_, "something comes after the end");
  if (close != nullptr) {
    See(*close);
    ClosingRounds& closing = closing_rounds_[command.sequence];
    closing.rounds = close->rounds.size();
    for (int i = 0; i < spec_.servers; ++i) closing.missing.insert(i);
  }
  if (snapshot != nullptr) See(*snapshot);
}

void HistoryChecker::See(const BeginWork& begin) {
  if (!workers_.contains(begin.worker)) return;
  (finished_ ? late_ : members_).insert(begin.worker);
  // Who takes the place of somebody that has died is there before the other one
  // counts as lost.
  const auto members = static_cast<int64_t>(members_.size());
  rounds_ =
      std::max<size_t>(rounds_, MemoryOf(spec_.run.paradigm, members).rounds);
}

void HistoryChecker::See(const MemberLetGo& gone) {
  if (!training_) members_.erase(gone.worker);
  late_.erase(gone.worker);
}

void HistoryChecker::See(const paceline::Evicted& evicted) {
  Require(members_.erase(evicted.worker) == 1, "no member is evicted");
  ReturnLot(evicted.worker);
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
  Require(is_lost || reporter_ == counted.worker, "a push nobody reported");
  Require(!is_lost || counted.samples == push.samples,
          "a lost push has other samples");
  Require(push.empty || push.blocks == blocks_, "a push that was not taken");
  Require(counted.staleness ==
              std::max(version_, grant.plan.applied_after) - grant.base_version,
          "staleness");
  const bool immediate = grant.plan.kind == PushPlan::Kind::kImmediate;
  if (immediate && !push.empty) ++version_;
  Require(counted.version == version_, "a push has another version");
  Require(counted.gap >= 0 && (!max_gap_ || counted.gap <= *max_gap_),
          absl::StrCat("gap ", counted.gap, " exceeds the bound"));
  const SampleRanges ranges = grant.ranges();
  Require(counted.samples <= SamplesIn(ranges), "a push of too many samples");
  push.used = FrontOf(ranges, counted.samples);
  if (grant.plan.kind == PushPlan::Kind::kRound) push.round = grant.plan.round;
  // The servers have taken it before the fence.
  push.gathered = is_lost ? fenced_at_.at(counted.worker) : closing_;
  counted_ += counted.samples;
  if (!is_lost && push.discarded &&
      grant.plan.kind != PushPlan::Kind::kDiscard) {
    Require(Doubt(grant) == counted.samples, "other samples are to blame");
    return;
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SampleRange& used = push.used[i];
    Move(used, Sample::kOut, Sample::kCounted);
    Move({used.epoch, used.end, ranges[i].end}, Sample::kOut,
         Sample::kReturned);
  }
}

void HistoryChecker::Return(const Grant& grant) {
  for (const SampleRange& range : grant.ranges()) {
    Move(range, Sample::kOut, Sample::kReturned);
  }
}

uint32_t HistoryChecker::Doubt(const Grant& grant) {
  uint32_t to_blame = 0;
  for (const SampleRange& range : grant.ranges()) {
    const size_t first = IndexOf(range.epoch, range.begin);
    const bool again = doubted_.contains(first);
    Move(range, Sample::kOut, again ? Sample::kCounted : Sample::kReturned);
    if (again) {
      to_blame += range.size();
    } else {
      for (size_t i = 0; i < range.size(); ++i) doubted_.insert(first + i);
    }
  }
  return to_blame;
}

void HistoryChecker::See(const Recorded& recorded) {
  const Decision& decision = recorded.decision;
  if (decision.kind == DecisionKind::kRangeReturned) {
    // One decision for each of its ranges: the first one settles all.
    const auto node = lost_.extract(decision.worker);
    if (!node.empty()) {
      Return(node.mapped());
      back_ = node.mapped().ranges();
    }
    // A decision does not say how many parts there are.
    const auto range = std::ranges::find_if(back_, [&](const SampleRange& r) {
      return r.epoch == decision.a && r.begin == decision.b &&
             r.end == decision.c;
    });
    Require(range != back_.end(), "a range came back that was not lost");
    if (range != back_.end()) back_.erase(range);
  } else if (decision.kind == DecisionKind::kAbandoned) {
    const auto node = open_.extract(decision.worker);
    Require(!node.empty() && node.mapped().iteration == decision.a,
            "an iteration was dropped that was not open");
    if (!node.empty()) Return(node.mapped());
  } else if (decision.kind == DecisionKind::kPartialPush) {
    Push& push = pushes_[{decision.worker, decision.a}];
    push.blocks_lost = decision.b;
    Require(push.blocks < blocks_, "a push that was taken whole is lost");
  } else if (decision.kind == DecisionKind::kDealingStopped) {
    sealed_ = true;
  } else if (decision.kind == DecisionKind::kDealingResumed) {
    sealed_ = false;
    ReturnLost();
  }
}

void HistoryChecker::See(const TrainingEnded& /*ended*/) {
  finished_ = true;
  // It goes on only to find that nothing is left to count.
  for (const WorkerId worker : std::exchange(taken_up_, {})) {
    members_.erase(worker);
    late_.insert(worker);
  }
  Require(last_snapshot_ || !spec_.run.evaluate,
          "the last snapshot is missing");
  Require(open_.empty() && unanswered_.empty(), "the end is early");
  if (sealed_) return;
  if (parts_) {
    Require(lost_.empty() && counted_ >= limit_ && Parts().begun() >= limit_,
            "the end leaves samples uncounted");
    for (int64_t index = 0; index < Parts().begun(); ++index) {
      Require(!Lies(static_cast<uint32_t>(index / spec_.train_samples),
                    static_cast<uint32_t>(index % spec_.train_samples)),
              "the end leaves a sample uncounted");
    }
    return;
  }
  // Nothing before the first sample that was never dealt is left.
  const auto undealt =
      std::find(samples_.begin(), samples_.end(), Sample::kUndealt);
  Require(
      lost_.empty() && counted_ >= limit_ &&
          counted_ == std::count(samples_.begin(), undealt, Sample::kCounted) &&
          counted_ == undealt - samples_.begin(),
      "the end leaves samples uncounted");
}

void HistoryChecker::ReturnLost() {
  std::set<WorkerId> open;  // Servers have still to say what they have of it.
  for (const auto& [sequence, fence] : unanswered_) open.insert(fence.worker);
  std::erase_if(lost_, [&](const auto& lost) {
    if (open.contains(lost.first)) return false;
    Return(lost.second);
    return true;
  });
}

void HistoryChecker::See(const TrainingResumed& /*resumed*/) {
  finished_ = last_snapshot_ = false;
  taken_up_ = late_;
  members_.merge(late_);
}

void HistoryChecker::Require(bool condition, absl::string_view what) {
  if (!condition && violation_.empty()) violation_ = std::string(what);
}

void HistoryChecker::Move(const SampleRange& range, Sample from, Sample to) {
  for (uint32_t i = range.begin; i < range.end; ++i) {
    Sample& sample = At(range.epoch, i);
    Require(sample == from, "a sample is counted or returned twice");
    sample = to;
    if (from == Sample::kOut) doubted_.erase(IndexOf(range.epoch, i));
  }
}

size_t HistoryChecker::IndexOf(uint32_t epoch, uint32_t position) const {
  return static_cast<size_t>(epoch) * spec_.train_samples + position;
}

HistoryChecker::Sample& HistoryChecker::At(uint32_t epoch, uint32_t position) {
  const size_t index = IndexOf(epoch, position);
  if (index >= samples_.size()) samples_.resize(index + 1);
  return samples_[index];
}

}  // namespace paceline
