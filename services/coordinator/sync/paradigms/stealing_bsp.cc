#include "services/coordinator/sync/paradigms/stealing_bsp.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/check.h"
#include "common/job/paradigm_spec.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/round_closing.h"
#include "services/coordinator/sync/paradigms/sample_paces.h"

namespace paceline {
namespace {

// Of what a worker would still have to do it takes so much at once,
constexpr double kPart = 0.9;
// and less, the worse its times were foreseen: what it has begun nobody can
// take from it. Noise of a tenth hardly counts; times without memory are wrong
// by 1 and more, and come to less than a fifth.
constexpr double kCaution = 4;

// Of what a worker took in earlier rounds, it is believed to take so much now
// at least. Among many workers whose times are without memory somebody has
// always just been very fast, and would be given too much.
constexpr double kFastest = 0.25;

// Of a round at most one in so many samples is computed before it is open, and
// of a batch at once, lest who fills a wait comes back late.
constexpr int64_t kFilled = 2;
constexpr int64_t kFillParts = 4;
// A wait is worth filling if it is so much of the least part at least. The rest
// of that part is work of the next round all the same.
constexpr double kFits = 0.5;

// Who is later than foreseen by so many times what it would take the others to
// compute its part again is too late, if that is so much of its round, too.
// With less, what is thrown away costs more than the wait where times are
// without memory; and of a thousand workers whose times scatter somebody is
// always late.
constexpr double kTooLate = 4;
constexpr double kTooLateOfRound = 0.5;
// It is believed to have become so many times slower at most: mostly that
// passes.
constexpr double kSlowest = 2;

// Seconds for a sample; of whom nothing is known.
constexpr double kLeastSeconds = 1e-9;

// A worker of the open round that has not been told to push, or one that has
// begun with the next round and not pushed.
struct Part {
  RoundId round{0};    // The open one or, of who fills a wait, the next one.
  bool stale = false;  // It was begun before its round was open.
  absl::Time released = {};
  absl::Time began = {};  // With the latest samples that it was given,
  int64_t samples = 0;    // of which there are so many,
  int64_t done = 0;       // after those.
  // Measured in this round as soon as something is.
  PaceForecast pace;
  double wrong = 0;  // The worst of this round, as PaceForecast's.

  double foreseen() const {  // Seconds for the latest samples.
    return static_cast<double>(samples) * pace.seconds_each;
  }
};

// What is to come of a round.
struct Outlook {
  double rate = 0;    // Of all who compute for it, in samples a second.
  double work = 0;    // Samples that are not computed.
  double latest = 0;  // Seconds until all have done what they were given.

  double seconds() const {
    return rate > 0 ? std::max(latest, work / rate) : 0;
  }
};

double SecondsSince(absl::Time then, absl::Time now) {
  return absl::ToDoubleSeconds(now - then);
}

// A time that any clock can show, so that it has passed when it is there.
absl::Duration InSeconds(double seconds) {
  return absl::Ceil(absl::Seconds(seconds), absl::Microseconds(1));
}

class StealingBsp final : public SyncPolicy {
 public:
  explicit StealingBsp(const BspOptions& options) : options_(options) {
    CHECK(options.steal && options.pieces >= 1);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_ = view.rounds().next();
    open_ = RoundId{0};
    parts_.clear();
    given_up_.clear();
    filled_ = 0;
    due_ = absl::InfiniteFuture();
    overdue_ = false;
    for (const auto& [worker, phase] : view.members()) {
      const std::optional<Pace> pace = view.PaceBefore(worker);
      if (pace.has_value()) paces_.Measured(worker, pace->seconds_each, 0);
    }
    left_ = 0;
    if (!view.waiting().empty()) OpenNext(view, actions);
  }

  // CloseRounds comes before the Releases into the next round.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{[&](const Joined& e) { Wait(view, e.worker, actions); },
                   [&](const Resumed& e) { Wait(view, e.worker, actions); },
                   [&](const GradientReady& e) { Ready(view, e, actions); },
                   [&](const PushDone& e) { End(view, e, actions); },
                   [&](const Abandoned& e) {
                     Drop(e.worker);
                     // Of those that it is told of nobody waits for it.
                     const bool late = given_up_.erase(e.worker) > 0;
                     if (late && Help(view, e.worker, actions)) return;
                     Wait(view, e.worker, actions);
                   },
                   [&](const Left& e) {
                     paces_.Forget(e.worker);
                     given_up_.erase(e.worker);
                     Drop(e.worker);
                     Turn(view, e.worker, actions);
                   },
                   [&](const Idle& e) {
                     given_up_.erase(e.worker);
                     Drop(e.worker);
                     Turn(view, e.worker, actions);
                   },
                   [&](const Tick&) { RedoTheLate(view, actions); },
                   [](const auto&) {}},
        event);
  }

  absl::Time NextDeadline() const override { return due_; }

  // Once all of it is begun, and whoever has begun has been told to push.
  std::optional<RoundId> ClosesNext() const override {
    const bool given = left_ <= 0 && parts_.empty() && given_up_.empty();
    return given && !options_.fill ? std::optional(open_) : std::nullopt;
  }
  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }
  PolicyView View() const override {
    return {.threshold = 0, .gathers_all = true};
  }

 private:
  void Ready(const SyncView& view, const GradientReady& ready,
             std::vector<Action>& actions) {
    const auto it = parts_.find(ready.worker);
    if (it == parts_.end()) {  // It will hear first that it is given up.
      CHECK(given_up_.contains(ready.worker));
      actions.push_back(PlanPush{ready.worker, PushPlan::Discard()});
      return;
    }
    Part& part = it->second;
    // Near the end of an epoch there are fewer than it was to have.
    // Who loads ahead may have had a few more.
    Take(part, ready.samples - part.done - part.samples);
    Measure(view.now(), ready, part);
    const PushPlan plan = PlanOf(view, part);
    const int64_t more = part.round != open_ ? Filling(view, part.pace)
                         : part.stale        ? 0
                                             : More(view, part.pace);
    if (more == 0) {
      Learn(ready.worker, part);
      actions.push_back(PlanPush{ready.worker, plan});
      if (part.round == open_) {
        parts_.erase(it);
      } else {
        part.done = 0;  // The open round does not wait for its push either.
      }
      return;
    }
    Take(part, more);
    part.began = view.now();
    part.samples = more;
    Expect(part);
    actions.push_back(Extend{ready.worker, static_cast<uint32_t>(more), plan});
  }

  // Where its gradient goes.
  PushPlan PlanOf(const SyncView& view, const Part& part) const {
    PushPlan plan = PushPlan::Round(part.round);
    if (part.round != open_) plan.applied_after = view.version() + 1;
    return plan;
  }

  // Of its round so many samples more are given away.
  void Take(const Part& part, int64_t samples) {
    if (part.round == open_) {
      left_ -= samples;
    } else {
      filled_ += samples;
    }
  }

  // What is begun of the next round and will not be pushed can be begun again.
  // Of the open one the rest is dealt in later rounds.
  void Drop(WorkerId worker) {
    const auto it = parts_.find(worker);
    if (it == parts_.end()) return;
    const Part& part = it->second;
    if (part.round != open_) Take(part, -part.done - part.samples);
    parts_.erase(it);
  }

  void Learn(WorkerId worker, const Part& part) {
    const PaceForecast before = paces_.Of(worker);
    // A wait's fill is small, and the pull of it makes the worker look slower
    // than it is.
    if (part.stale && before.seconds_each <= part.pace.seconds_each) return;
    paces_.Measured(worker, part.pace.seconds_each,
                    part.stale ? before.wrong : part.wrong);
  }

  // It has done all that it was given.
  void Measure(absl::Time now, const GradientReady& ready, Part& part) {
    const auto samples = static_cast<double>(ready.samples - part.done);
    if (part.pace.known && samples > 0) {
      const double foreseen = samples * part.pace.seconds_each;
      part.wrong = std::max(
          part.wrong,
          std::abs(SecondsSince(part.began, now) - foreseen) / foreseen);
    }
    part.pace.seconds_each = std::max(
        SecondsSince(part.released, now) / std::max<double>(1, ready.samples),
        Fastest(paces_.Of(ready.worker)));
    // The first to be known say what to expect of the others.
    if (!part.pace.known) {
      paces_.Measured(ready.worker, part.pace.seconds_each, 0);
    }
    part.pace.known = true;
    part.done = ready.samples;
    part.samples = 0;
  }

  // Its push is in, planned by Ready() or for want of samples.
  void End(const SyncView& view, const PushDone& done,
           std::vector<Action>& actions) {
    const WorkerId worker = done.worker;
    given_up_.erase(worker);
    const auto it = parts_.find(worker);
    if (it != parts_.end()) {
      // Others can take what it was given last: it could not be extended by
      // that, or has computed it in vain.
      if (done.taken || it->second.round == open_) {
        Take(it->second, -it->second.samples);
        parts_.erase(it);
      } else {
        Drop(worker);
      }
    }
    // It has pushed its part, and the others may be later than was foreseen.
    if (!Help(view, worker, actions)) Wait(view, worker, actions);
  }

  // The worker, which has nothing to do, takes from the open round; false if
  // it had better not.
  bool Help(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (!IsOpen(view)) return false;
    const int64_t more = More(view, paces_.Of(worker));
    if (more > 0) Give(view, worker, open_, more, actions);
    return more > 0;
  }

  // How many samples of the open round a worker of such a pace, which has
  // nothing to do, had better take; 0: it would only hold up the others.
  int64_t More(const SyncView& view, const PaceForecast& pace) const {
    if (left_ <= 0) return 0;
    const Outlook others = LookAt(open_, view.now());
    const int64_t least = std::min(left_, Piece(view));
    const double least_takes = static_cast<double>(least) * pace.seconds_each;
    if (others.rate > 0 && least_takes > others.seconds()) return 0;
    const double share =
        std::min(others.work / (1 + others.rate * pace.seconds_each),
                 static_cast<double>(left_));
    return std::clamp(Whole(view, share * PartOf(pace)), least,
                      std::min(left_, Most(view)));
  }

  // How many samples of the next round such a worker had better compute while
  // the others finish the open one; 0: it would come late to the next one, or
  // is needed in this one.
  int64_t Filling(const SyncView& view, const PaceForecast& pace) const {
    if (More(view, pace) > 0) return 0;
    const double samples =
        LookAt(open_, view.now()).seconds() / pace.seconds_each;
    const int64_t batch = view.batch_size();
    const int64_t least = Piece(view);
    const int64_t room = Fillable(view) - filled_;
    if (samples < kFits * static_cast<double>(least) || room < least) return 0;
    return std::clamp(Whole(view, samples * PartOf(pace)), least,
                      std::min(room, std::max(least, batch / kFillParts)));
  }

  // Of the next round: all shall get something of it when it is open.
  int64_t Fillable(const SyncView& view) const {
    const int64_t batch = view.batch_size();
    const auto members =
        static_cast<int64_t>(view.waiting().size() + view.computing());
    return std::min(members * batch / kFilled, members * (batch - Piece(view)));
  }

  // What is left of the round without those who have nothing to do.
  Outlook LookAt(RoundId round, absl::Time now) const {
    Outlook outlook;
    if (round == open_) outlook.work = static_cast<double>(left_);
    for (const auto& [worker, part] : parts_) {
      if (part.samples == 0 || part.round != round) continue;
      const double seconds_each = part.pace.known
                                      ? part.pace.seconds_each
                                      : paces_.Of(worker).seconds_each;
      // Who is late is expected to be as late again.
      const double left =
          std::abs(static_cast<double>(part.samples) * seconds_each -
                   SecondsSince(part.began, now));
      outlook.rate += 1 / seconds_each;
      outlook.work += left / seconds_each;
      outlook.latest = std::max(outlook.latest, left);
    }
    return outlook;
  }

  // The worker waits for the next round, which opens if nobody is awaited.
  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    const int64_t awaited = Awaited(view);
    if (awaited == 0) return Turn(view, worker, actions);
    // Who has just come has not been asked yet, and is not asked again.
    if (options_.fill && Help(view, worker, actions)) return;
    const int64_t fill = MayFill(view) ? Filling(view, paces_.Of(worker)) : 0;
    if (fill == 0) {
      if (overdue_) due_ = view.now();
      return ReportWait(next_, awaited, worker, actions);
    }
    actions.push_back(
        Report{{DecisionKind::kFillsWait, worker,
                static_cast<int64_t>(ToNumber(next_)), fill, awaited}});
    Give(view, worker, next_, fill, actions);
  }

  // Of how many members the next round waits. Before anything is given.
  int64_t Awaited(const SyncView& view) const {
    const int64_t awaited =
        static_cast<int64_t>(view.computing()) -
        static_cast<int64_t>(given_up_.size()) -
        std::ranges::count_if(parts_, [this](const auto& part) {
          return part.second.round == next_;
        });
    // Somebody may have been given up who pushed already, because it cannot
    // extend an iteration.
    return std::max(awaited, view.rounds().PlansOf(open_));
  }
  // A second round is opened only where it is not needed elsewhere.
  bool MayFill(const SyncView& view) const {
    return options_.fill && IsOpen(view) &&
           (filled_ > 0 || view.rounds().free() > 0);
  }
  // Whether there is a round that the next one waits for.
  bool IsOpen(const SyncView& view) const {
    return !view.rounds().OfEarlierTerm(open_);
  }

  // Does nothing while somebody is awaited. Otherwise closes the open round, if
  // it gathered a push, and opens the next one, if anybody waits or has begun
  // with it.
  void Turn(const SyncView& view, WorkerId cause,
            std::vector<Action>& actions) {
    if (Awaited(view) > 0) return;
    CloseGathered(view, open_, cause, actions);
    if (!view.waiting().empty() || !parts_.empty()) {
      return OpenNext(view, actions);
    }
    // Nobody is there to go on with what is pushed.
    Advance();
    CloseGathered(view, open_, cause, actions);
  }

  // Parts of the next round become parts of the open one.
  void Advance() {
    open_ = next_;
    next_ = RoundId{ToNumber(open_) + 1};
    left_ = -std::exchange(filled_, 0);
  }

  void OpenNext(const SyncView& view, std::vector<Action>& actions) {
    const auto waiting = static_cast<int64_t>(view.waiting().size());
    Advance();
    left_ += int64_t{view.batch_size()} *
             (waiting + static_cast<int64_t>(parts_.size()) +
              static_cast<int64_t>(given_up_.size()));
    // Who has left may have filled more than what is there now.
    left_ = std::max(left_, waiting);
    Divide(view, actions);
  }

  // What nobody has been given of the open round, among those who wait.
  void Divide(const SyncView& view, std::vector<Action>& actions) {
    const auto waiting = static_cast<int64_t>(view.waiting().size());
    if (waiting == 0) return;
    // Who still computes on the weights of before comes back.
    Outlook outlook = LookAt(open_, view.now());
    outlook.rate += RateOfWaiting(view);
    const double seconds = outlook.work / outlook.rate;
    // All get something, so that a slow one's pace is not forgotten.
    const int64_t least =
        std::max(int64_t{1}, std::min(Piece(view), left_ / waiting));
    int64_t kept = least * waiting;
    for (const WorkerId worker : view.waiting()) {
      if (left_ < least) return;
      kept -= least;
      const PaceForecast pace = paces_.Of(worker);
      const double share = seconds / pace.seconds_each;
      const int64_t most = std::min(std::max(left_ - kept, least), Most(view));
      Give(view, worker, open_,
           std::clamp(Whole(view, share * PartOf(pace)), least, most), actions);
    }
  }

  double RateOfWaiting(const SyncView& view) const {
    double rate = 0;
    for (const WorkerId worker : view.waiting()) {
      rate += 1 / paces_.Of(worker).seconds_each;
    }
    return rate;
  }

  bool CanBeTooLate(const Part& part) const {
    return options_.redo && part.round == open_ && part.samples > 0 &&
           part.pace.known;
  }

  // When a part may be too late, if enough wait by then.
  static absl::Time SoonestTooLate(const Part& part) {
    const double foreseen = part.foreseen();
    const double round = SecondsSince(part.released, part.began) + foreseen;
    return part.began + InSeconds(foreseen + kTooLateOfRound * round);
  }
  // When it is, for those who wait, who compute so many samples a second.
  static absl::Time TooLateAt(const Part& part, double rate) {
    const double again = static_cast<double>(part.done + part.samples) / rate;
    return std::max(SoonestTooLate(part),
                    part.began + InSeconds(part.foreseen() + kTooLate * again));
  }

  // The part is begun: it is looked at again when it may be too late.
  void Expect(const Part& part) {
    if (CanBeTooLate(part)) due_ = std::min(due_, SoonestTooLate(part));
  }

  // Who is too late is to drop its part, and those who wait compute as much.
  void RedoTheLate(const SyncView& view, std::vector<Action>& actions) {
    const absl::Time now = view.now();
    const double rate = RateOfWaiting(view);
    due_ = absl::InfiniteFuture();
    overdue_ = false;
    std::vector<WorkerId> late;
    for (const auto& [worker, part] : parts_) {
      if (!CanBeTooLate(part)) continue;
      const absl::Time at =
          rate > 0 ? TooLateAt(part, rate) : SoonestTooLate(part);
      if (at > now) {
        due_ = std::min(due_, at);
      } else if (rate > 0) {
        late.push_back(worker);
      } else {
        overdue_ = true;
      }
    }
    for (const WorkerId worker : late) GiveUp(view, worker, actions);
    if (!late.empty()) Divide(view, actions);
  }

  void GiveUp(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions) {
    const auto it = parts_.find(worker);
    const int64_t samples = it->second.done + it->second.samples;
    LearnOfTheLate(view.now(), worker, it->second);
    actions.push_back(Report{{DecisionKind::kRedone, worker, samples,
                              static_cast<int64_t>(ToNumber(open_)),
                              static_cast<int64_t>(view.waiting().size())}});
    actions.push_back(Abandon{worker});
    given_up_.insert(worker);
    left_ += samples;
    parts_.erase(it);
  }

  // Of somebody whose part nobody waits for any more.
  void LearnOfTheLate(absl::Time now, WorkerId worker, const Part& part) {
    const double slower = SecondsSince(part.began, now) / part.foreseen();
    paces_.Measured(worker,
                    part.pace.seconds_each * std::clamp(slower, 1.0, kSlowest),
                    std::max(part.wrong, slower - 1));
  }

  void Give(const SyncView& view, WorkerId worker, RoundId round,
            int64_t samples, std::vector<Action>& actions) {
    Part& part = parts_[worker];
    part = {.round = round,
            .stale = round != open_,
            .released = view.now(),
            .began = view.now(),
            .samples = samples,
            .pace = paces_.Of(worker)};
    Take(part, samples);
    Expect(part);
    actions.push_back(Release{.worker = worker,
                              .plan = PushPlan::Ask(),
                              .samples = static_cast<uint32_t>(samples),
                              .fills_wait = part.stale});
  }

  static double Fastest(const PaceForecast& before) {
    return before.known ? kFastest * before.seconds_each : kLeastSeconds;
  }
  static double PartOf(const PaceForecast& pace) {
    return kPart / (1 + kCaution * pace.wrong * pace.wrong);
  }
  int64_t Piece(const SyncView& view) const {
    const auto pieces = static_cast<uint32_t>(options_.pieces);
    return (view.batch_size() + pieces - 1) / pieces;
  }
  // Whole pieces, downwards.
  int64_t Whole(const SyncView& view, double samples) const {
    return static_cast<int64_t>(samples) / Piece(view) * Piece(view);
  }
  // A pace may be measured wrongly: no more at once than balanced batches.
  static int64_t Most(const SyncView& view) {
    return int64_t{4} * view.batch_size();
  }

  const BspOptions options_;
  RoundId open_{0};  // The round that was opened last.
  RoundId next_{0};  // It is free, and so is every greater one.
  // Samples of the open round that nobody has been given; below 0: more were.
  int64_t left_ = 0;
  int64_t filled_ = 0;  // Samples of the next round that were given away.
  absl::btree_map<WorkerId, Part> parts_;
  // They were told to drop their parts, and have not answered.
  absl::btree_set<WorkerId> given_up_;
  absl::Time due_ = absl::InfiniteFuture();  // Somebody may be too late then,
  bool overdue_ = false;                     // or is as soon as somebody waits.
  SamplePaces paces_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakeStealingBsp(const BspOptions& options) {
  return std::make_unique<StealingBsp>(options);
}

}  // namespace paceline
