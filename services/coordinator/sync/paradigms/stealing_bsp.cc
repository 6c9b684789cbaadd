#include "services/coordinator/sync/paradigms/stealing_bsp.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
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

// Seconds for a sample; of whom nothing is known.
constexpr double kLeastSeconds = 1e-9;

// A worker of the open round that has not been told to push.
struct Part {
  absl::Time released = {};
  absl::Time began = {};  // With the latest samples that it was given,
  int64_t samples = 0;    // of which there are so many,
  int64_t done = 0;       // after those.
  // Measured in this round as soon as something is.
  PaceForecast pace;
  double wrong = 0;  // The worst of this round, as PaceForecast's.
};

double SecondsSince(absl::Time then, absl::Time now) {
  return absl::ToDoubleSeconds(now - then);
}

class StealingBsp final : public SyncPolicy {
 public:
  explicit StealingBsp(int pieces) : pieces_(pieces) { CHECK(pieces >= 1); }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_ = view.rounds().next();
    open_ = RoundId{0};
    for (const auto& [worker, phase] : view.members()) {
      const std::optional<Pace> pace = view.PaceBefore(worker);
      if (pace.has_value()) paces_.Measured(worker, pace->seconds_each, 0);
    }
    OpenNext(view, actions);
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
                     parts_.erase(e.worker);
                     Wait(view, e.worker, actions);
                   },
                   [&](const Left& e) {
                     paces_.Forget(e.worker);
                     parts_.erase(e.worker);
                     Turn(view, e.worker, actions);
                   },
                   [&](const Idle& e) {
                     parts_.erase(e.worker);
                     Turn(view, e.worker, actions);
                   },
                   [](const auto&) {}},
        event);
  }

  std::string Describe() const override {
    return FormatParadigm(
        PlainParadigm{BspOptions{.steal = true, .pieces = pieces_}});
  }
  PolicyView View() const override { return {.threshold = 0}; }

 private:
  void Ready(const SyncView& view, const GradientReady& ready,
             std::vector<Action>& actions) {
    const auto it = parts_.find(ready.worker);
    CHECK(it != parts_.end());
    Part& part = it->second;
    // Near the end of an epoch there are fewer than it was to have.
    // Who loads ahead may have had a few more.
    left_ += part.done + part.samples - ready.samples;
    Measure(view.now(), ready, part);
    const int64_t more = More(view, part.pace);
    if (more == 0) {
      paces_.Measured(ready.worker, part.pace.seconds_each, part.wrong);
      parts_.erase(it);
      actions.push_back(PlanPush{ready.worker, PushPlan::Round(open_)});
      return;
    }
    left_ -= more;
    part.began = view.now();
    part.samples = more;
    actions.push_back(Extend{ready.worker, static_cast<uint32_t>(more),
                             PushPlan::Round(open_)});
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
    const auto it = parts_.find(worker);
    if (it != parts_.end()) {
      // It could not be extended: others can take that.
      if (done.taken) left_ += it->second.samples;
      parts_.erase(it);
    }
    if (left_ > 0 && !view.rounds().OfEarlierTerm(open_)) {
      // It has pushed its part, and the others are later than was foreseen.
      const int64_t more = More(view, paces_.Of(worker));
      if (more > 0) return Give(view, worker, more, actions);
    }
    Wait(view, worker, actions);
  }

  // How many samples of the open round a worker of such a pace, which has
  // nothing to do, had better take; 0: it would only hold up the others.
  int64_t More(const SyncView& view, const PaceForecast& pace) const {
    if (left_ <= 0) return 0;
    double rate = 0;                           // Of the others, in samples.
    double work = static_cast<double>(left_);  // Of all.
    double latest = 0;                         // When they are done so far.
    for (const auto& [worker, other] : parts_) {
      if (other.samples == 0) continue;
      const double seconds_each = other.pace.known
                                      ? other.pace.seconds_each
                                      : paces_.Of(worker).seconds_each;
      // Who is late is expected to be as late again.
      const double left =
          std::abs(static_cast<double>(other.samples) * seconds_each -
                   SecondsSince(other.began, view.now()));
      rate += 1 / seconds_each;
      work += left / seconds_each;
      latest = std::max(latest, left);
    }
    const int64_t least = std::min(left_, Piece(view));
    const double least_takes = static_cast<double>(least) * pace.seconds_each;
    if (rate > 0 && least_takes > std::max(latest, work / rate)) return 0;
    const double share = std::min(work / (1 + rate * pace.seconds_each),
                                  static_cast<double>(left_));
    return std::clamp(Whole(view, share * PartOf(pace)), least,
                      std::min(left_, Most(view)));
  }

  // The worker waits for the next round, which opens if nobody is awaited.
  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (view.computing() == 0) {
      Turn(view, worker, actions);
    } else {
      ReportWait(view, next_, worker, actions);
    }
  }

  // Does nothing while somebody is awaited. Otherwise closes the open round, if
  // it gathered a push, and opens the next one, if anybody waits.
  void Turn(const SyncView& view, WorkerId cause,
            std::vector<Action>& actions) {
    if (view.computing() > 0) return;
    CloseGathered(view, open_, cause, actions);
    OpenNext(view, actions);
  }

  void OpenNext(const SyncView& view, std::vector<Action>& actions) {
    left_ = 0;
    if (view.waiting().empty()) return;
    open_ = next_;
    next_ = RoundId{ToNumber(open_) + 1};
    left_ = int64_t{view.batch_size()} *
            static_cast<int64_t>(view.waiting().size());
    double rate = 0;
    for (const WorkerId worker : view.waiting()) {
      rate += 1 / paces_.Of(worker).seconds_each;
    }
    const double seconds = static_cast<double>(left_) / rate;
    const int64_t piece = Piece(view);
    // All get something, so that a slow one's pace is not forgotten.
    int64_t kept = piece * static_cast<int64_t>(view.waiting().size());
    for (const WorkerId worker : view.waiting()) {
      kept -= piece;
      const PaceForecast pace = paces_.Of(worker);
      const double share = seconds / pace.seconds_each;
      Give(view, worker,
           std::clamp(Whole(view, share * PartOf(pace)), piece,
                      std::min(left_ - kept, Most(view))),
           actions);
    }
  }

  void Give(const SyncView& view, WorkerId worker, int64_t samples,
            std::vector<Action>& actions) {
    left_ -= samples;
    parts_[worker] = {.released = view.now(),
                      .began = view.now(),
                      .samples = samples,
                      .pace = paces_.Of(worker)};
    actions.push_back(Release{.worker = worker,
                              .plan = PushPlan::Ask(),
                              .samples = static_cast<uint32_t>(samples)});
  }

  static double Fastest(const PaceForecast& before) {
    return before.known ? kFastest * before.seconds_each : kLeastSeconds;
  }
  static double PartOf(const PaceForecast& pace) {
    return kPart / (1 + kCaution * pace.wrong * pace.wrong);
  }
  int64_t Piece(const SyncView& view) const {
    const auto pieces = static_cast<uint32_t>(pieces_);
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

  const int pieces_;
  RoundId open_{0};  // The round that was opened last.
  RoundId next_{0};  // It is free, and so is every greater one.
  // Samples of the open round that nobody has been given; below 0: more were.
  int64_t left_ = 0;
  absl::btree_map<WorkerId, Part> parts_;
  SamplePaces paces_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakeStealingBsp(int pieces) {
  return std::make_unique<StealingBsp>(pieces);
}

}  // namespace paceline
