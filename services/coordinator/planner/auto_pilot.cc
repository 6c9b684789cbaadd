#include "services/coordinator/planner/auto_pilot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "services/coordinator/planner/recent_paces.h"
#include "services/coordinator/planner/tempo.h"

namespace paceline {
namespace {

// It looks again after so many iterations of the slowest worker, within these
// limits; then after up to kMostDoubled times that.
constexpr double kLookIterations = 25;
constexpr double kLeastLook = 2;
constexpr double kMostLook = 30;
constexpr double kMostDoubled = 10;
// As long as it cannot look in full: after so many iterations of the slowest
// worker, or seconds if that is more.
constexpr double kSoonIterations = 0.25;
constexpr double kSoon = 0.5;
// Who has not enough iterations after so many of the slowest one of the others
// has none that ends.
constexpr double kMostUnmeasured = 40;

// Iterations of each worker for an early look. The first is left out: it may be
// longer than others, for the program warms up.
constexpr size_t kLeastEarly = 2;

// A paradigm is on trial for so many iterations of the slowest worker.
constexpr double kTrialIterations = 10;
// Or for so many, if it cannot be measured.
constexpr double kLongestTrial = 50;

// Somebody is faster or slower by so much: there is something to look at.
constexpr double kPaceIsNews = 1.5;
// Gradients are noisier or less noisy by so much: the same.
constexpr double kNoiseIsNews = 2;

// Of a new measurement of what a cut costs; the first counts whole.
constexpr double kNewCost = 0.3;

// Of a new measurement; the first counts whole.
constexpr double kNewBias = 0.5;
// Nothing is much faster than if only computing took time: then the workers
// were others meanwhile.
constexpr double kMostBias = 1.05;

// A paradigm that is left again is locked out for so many times as long as it
// was on trial at first.
constexpr double kFirstLock = 4;

// The one before has to be better by so much to be gone back to.
constexpr double kBetterBefore = 1.03;

double SlowestOf(const PlayedJob& job,
                 const std::vector<MeasuredWorker>& workers) {
  double slowest = 0;
  for (const MeasuredWorker& worker : workers) {
    slowest = std::max(slowest, SecondsOfBatch(job, worker));
  }
  return slowest;
}

std::vector<std::string> NamesOf(const std::vector<MeasuredWorker>& workers) {
  std::vector<std::string> names;
  names.reserve(workers.size());
  for (const MeasuredWorker& worker : workers) names.push_back(worker.name);
  std::ranges::sort(names);
  return names;
}

Forecast Foreseen(const AutoPilot::Seen& seen, const AutoPilot::Option& option,
                  uint64_t luck) {
  PlayedJob job = seen.job;
  job.batching = option.paradigm.batching;
  return Play(option.paradigm.paradigm, job, seen.workers, luck);
}

// A paradigm as a job's description has it.
std::string Full(absl::string_view text) {
  return FormatBatchedParadigm(*ParseBatchedParadigm(text));
}

std::string Speed(const AutoPilot::Option& option) {
  std::string speed = absl::StrFormat(
      "%s: %.4g samples/s, staleness %.2g", option.text,
      option.forecast.samples_per_second, option.forecast.staleness);
  if (option.forecast.efficiency < 1) {
    absl::StrAppendFormat(&speed, ", each worth %.2g",
                          option.forecast.efficiency);
  }
  return speed;
}

}  // namespace

AutoPilot::Look AutoPilot::LookAt(Seen seen, bool acts) {
  const std::string present =
      FormatBatchedParadigm({seen.present, seen.job.batching});
  TakeStock(seen, present);
  Look look;
  look.advised = present;
  if (seen.switching) {
    // What is measured until then is of the paradigm before.
    since_ = seen.seconds;
    if (trial_.has_value()) trial_->began = seen.seconds;
    look.again_after = kSoon;
    return look;
  }
  std::string why = WhoIsUnmeasured(seen.workers);
  if (!why.empty()) {
    return LookInVain(std::move(seen), acts, std::move(why));
  }
  if (seen.job.ada_scale && !seen.job.noise.has_value()) {
    look.again_after = kLeastLook;
    look.why = "the noise of the gradients is not known yet, which rounds show";
    if (acts) BeginAnew(seen, look);
    return look;
  }
  seen.job.micro_batch_cost = micro_batch_cost_.value_or(0);
  KeepRecent(seen.job, seen.seconds, seen.workers);
  if (const auto cost = MicroBatchCost(seen.job, seen.workers)) {
    const double before = micro_batch_cost_.value_or(*cost);
    micro_batch_cost_ = before + kNewCost * (*cost - before);
    seen.job.micro_batch_cost = *micro_batch_cost_;
  }
  const double slowest = SlowestOf(seen.job, seen.workers);
  const double base =
      std::clamp(kLookIterations * slowest, kLeastLook, kMostLook);
  const bool due = !last_.has_value() || seen.seconds >= next_ ||
                   trial_.has_value() || (acts && last_->advised != present) ||
                   HasChanged(seen);
  if (due) {
    const bool same =
        last_.has_value() && !trial_.has_value() && seen.seconds >= next_;
    interval_ = same ? std::min(2 * interval_, kMostDoubled * base) : base;
    next_ = seen.seconds + interval_;
    last_ = LookFully(seen, acts, slowest);
    look = *last_;
    last_->to.reset();
  } else {
    look = *last_;
  }
  look.again_after = base;
  return look;
}

void AutoPilot::TakeStock(const Seen& seen, const std::string& present) {
  std::vector<std::string> names = NamesOf(seen.workers);
  if (present == present_ && names == names_) return;
  // Somebody else has switched.
  if (present != present_) {
    trial_.reset();
    chose_early_ = false;
  }
  present_ = present;
  names_ = std::move(names);
  since_ = seen.seconds;
  last_.reset();
}

AutoPilot::Look AutoPilot::LookInVain(Seen seen, bool acts, std::string why) {
  Look look;
  look.advised = present_;
  look.why = std::move(why);
  std::vector<MeasuredWorker> known = seen.workers;
  std::erase_if(known, [](const MeasuredWorker& worker) {
    return worker.iterations.empty();
  });
  const double slowest = SlowestOf(seen.job, known);
  look.again_after = std::clamp(slowest * kSoonIterations, kSoon, kMostLook);
  if (!acts) return look;
  // Who never finishes an iteration here would never be measured.
  const bool in_vain =
      !known.empty() && seen.seconds - since_ > kMostUnmeasured * slowest;
  if (in_vain && BeginAnew(seen, look)) return look;
  LookEarly(std::move(seen), look);
  return look;
}

void AutoPilot::LookEarly(Seen seen, Look& look) {
  if (looked_ || present_ != Full(kAutoBegins)) return;
  if (seen.job.ada_scale && !seen.job.noise.has_value()) return;
  if (seen.workers.empty()) return;
  size_t iterations = 0;
  for (MeasuredWorker& worker : seen.workers) {
    if (worker.iterations.size() < kLeastEarly) return;
    iterations += worker.iterations.size();
    worker.iterations.erase(worker.iterations.begin());
  }
  if (std::exchange(looked_early_, iterations) == iterations) return;
  std::vector<std::string> texts = ParadigmsFor(seen.workers.size());
  std::erase_if(texts, [](const std::string& text) {
    return !absl::StartsWith(text, "kbatchsync");
  });
  look.options = PlayAll(seen, std::move(texts));
  Correct(seen.workers.size(), look.options);
  const Option present =
      *std::ranges::find(look.options, present_, &Option::text);
  const Option best = look.options.front();
  if (best.text == present_) return;
  look.options.front().excluded =
      Objection(seen, best, present, SlowestOf(seen.job, seen.workers));
  if (!look.options.front().excluded.empty()) return;
  look.advised = best.text;
  look.gain = best.value / present.value;
  look.why = absl::StrFormat(
      "by the first iterations, until more is known: %s; at present %s",
      Speed(best), Speed(present));
  look.to = best.paradigm;
  present_ = best.text;
  since_ = seen.seconds;
  steers_ = chose_early_ = true;
}

bool AutoPilot::HasChanged(const Seen& seen) const {
  if (seen.job.noise.has_value()) {
    const double ratio = *seen.job.noise / noise_;
    if (ratio > kNoiseIsNews || ratio < 1 / kNoiseIsNews) return true;
  }
  return std::ranges::any_of(seen.workers, [this](const MeasuredWorker& of) {
    const double ratio = LatestPace(of) / paces_.at(of.name);
    return ratio > kPaceIsNews || ratio < 1 / kPaceIsNews;
  });
}

AutoPilot::Look AutoPilot::LookFully(const Seen& seen, bool acts,
                                     double slowest) {
  paces_.clear();
  for (const MeasuredWorker& of : seen.workers) {
    paces_[of.name] = LatestPace(of);
  }
  noise_ = seen.job.noise.value_or(0);
  Look look;
  look.advised = present_;
  Unlock(seen.seconds);
  looked_ = true;
  look.options =
      PlayAll(seen, ParadigmsFor(seen.workers.size(), seen.job.ada_scale));
  Measure(seen, look.options);
  Correct(seen.workers.size(), look.options);
  Decide(seen, acts, slowest, look);
  return look;
}

void AutoPilot::Measure(const Seen& seen, const std::vector<Option>& played) {
  const std::optional<double> speed = MeasuredSpeed(seen.workers, since_);
  const double predicted = std::ranges::find(played, present_, &Option::text)
                               ->forecast.samples_per_second;
  if (!speed.has_value() || predicted <= 0) return;
  const double bias = std::min(*speed / predicted, kMostBias);
  const auto [it, first] = bias_.try_emplace(present_, bias);
  if (!first) it->second += kNewBias * (bias - it->second);
  if (!trial_.has_value()) usual_bias_ = it->second;
}

double AutoPilot::BiasOf(const std::string& text) const {
  const auto it = bias_.find(text);
  return it == bias_.end() ? usual_bias_ : it->second;
}

void AutoPilot::Unlock(double now) {
  for (auto& [text, lock] : locks_) {
    if (!lock.active || now < lock.until) continue;
    lock.active = false;
    if (std::exchange(lock.failed, false)) bias_.erase(text);
  }
}

std::vector<AutoPilot::Option> AutoPilot::PlayAll(
    const Seen& seen, std::vector<std::string> texts) const {
  std::vector<Option> options;
  for (const std::string& text : texts) {
    const BatchedParadigm paradigm = *ParseBatchedParadigm(text);
    options.push_back(
        {.paradigm = paradigm, .text = FormatBatchedParadigm(paradigm)});
  }
  if (std::ranges::find(options, present_, &Option::text) == options.end()) {
    options.push_back(
        {.paradigm = {seen.present, seen.job.batching}, .text = present_});
  }
  for (Option& option : options) {
    option.forecast = Foreseen(seen, option, 1);
  }
  return options;
}

void AutoPilot::Correct(size_t workers, std::vector<Option>& options) const {
  for (Option& option : options) {
    option.forecast.samples_per_second *= BiasOf(option.text);
    option.value = option.forecast.Value(workers);
  }
  std::ranges::stable_sort(options, std::ranges::greater(), &Option::value);
}

bool AutoPilot::LeadIsSure(const Seen& seen, const Option& option,
                           const Option& present) const {
  const size_t workers = seen.workers.size();
  for (uint64_t luck = 2; luck <= kLucks; ++luck) {
    const double value =
        Foreseen(seen, option, luck).Value(workers) * BiasOf(option.text);
    const double now =
        Foreseen(seen, present, luck).Value(workers) * BiasOf(present.text);
    if (value < LeastGain() * now) return false;
  }
  return true;
}

std::string AutoPilot::Objection(const Seen& seen, const Option& option,
                                 const Option& present, double slowest) const {
  const auto lock = locks_.find(option.text);
  if (lock != locks_.end() && lock->second.active) {
    return absl::StrFormat("%s; not before another %.0f s", lock->second.why,
                           lock->second.until - seen.seconds);
  }
  if (!(present.value > 0) || option.value < LeastGain() * present.value) {
    return absl::StrFormat("the gain is below %.0f %%",
                           100 * (LeastGain() - 1));
  }
  if (!LeadIsSure(seen, option, present)) {
    return "the gain depends on luck";
  }
  const double gained = 1 - present.value / option.value;  // Of each second.
  if (seen.seconds_left.has_value() &&
      gained * *seen.seconds_left < kSwitchesPaidBy * slowest) {
    return "the job ends before a switch would pay";
  }
  // The first mistake is free: nobody knows before.
  const double trial = kTrialIterations * slowest;
  if (reverted_ > 0 && !bias_.contains(option.text) &&
      reverted_ + trial > kMostTrials * (seen.seconds + trial)) {
    return "too much time went into trials that failed";
  }
  return "";
}

bool AutoPilot::BeginAnew(const Seen& seen, Look& look) {
  const std::string text = Full(kAutoBegins);
  if (present_ == text) return false;
  look.advised = text;
  look.to = *ParseBatchedParadigm(kAutoBegins);
  present_ = text;
  since_ = seen.seconds;
  trial_.reset();
  chose_early_ = false;
  return true;
}

bool AutoPilot::TakesOver(const Seen& seen, Look& look) {
  const std::string text = Full(kAutoBegins);
  if (present_ == text) return false;
  const bool cut =
      std::ranges::any_of(seen.workers, [&seen](const MeasuredWorker& of) {
        const MeasuredIteration& last = of.iterations.back();
        return last.micro_batches >
               UncutMicroBatches(seen.job, of.wishes, last.samples);
      });
  if (!cut || micro_batch_cost_.has_value()) {
    trial_ = Trial{text, seen.seconds};
    return false;
  }
  look.why = "it is taken over, and what a cut costs is not known";
  return BeginAnew(seen, look);
}

void AutoPilot::Decide(const Seen& seen, bool acts, double slowest,
                       Look& look) {
  const Option present =
      *std::ranges::find(look.options, look.advised, &Option::text);
  if (!acts) trial_.reset();
  if (acts && !std::exchange(steers_, acts) && TakesOver(seen, look)) return;
  steers_ = acts;
  if (trial_.has_value()) {
    const double seconds = seen.seconds - trial_->began;
    const bool known =
        bias_.contains(present.text) && seconds >= kTrialIterations * slowest;
    if (!known && seconds < kLongestTrial * slowest) {
      look.why =
          absl::StrCat("its prediction is being checked: ", Speed(present));
      return;
    }
    if (known && GiveUp(seen, present, slowest, look)) return;
    trial_.reset();
    if (known) usual_bias_ = bias_.at(present.text);
  }
  for (Option& option : look.options) {
    if (option.text == present.text) break;
    option.excluded = Objection(seen, option, present, slowest);
    if (!option.excluded.empty()) continue;
    look.advised = option.text;
    look.gain = option.value / present.value;
    look.why =
        absl::StrFormat("%s; at present %s", Speed(option), Speed(present));
    if (acts) SwitchTo(seen, option, look);
    return;
  }
  chose_early_ = false;
  look.why = absl::StrCat("nothing is better by enough: ", Speed(present));
}

void AutoPilot::SwitchTo(const Seen& seen, const Option& option, Look& look) {
  trial_ = Trial{present_, seen.seconds};
  chose_early_ = false;
  present_ = option.text;
  since_ = seen.seconds;
  look.to = option.paradigm;
}

bool AutoPilot::GiveUp(const Seen& seen, const Option& present, double slowest,
                       Look& look) {
  const auto before =
      std::ranges::find(look.options, trial_->from, &Option::text);
  if (before == look.options.end() ||
      before->value < kBetterBefore * present.value) {
    return false;
  }
  const double spent = seen.seconds - trial_->began;
  Lock& lock = locks_[present.text];
  lock.seconds = std::max(2 * lock.seconds, kFirstLock * spent);
  lock.until = seen.seconds + lock.seconds;
  lock.active = lock.failed = true;
  lock.why = "it was worth less than was predicted";
  // Nobody knew before the first one.
  const bool first = reverted_ <= 0;
  if (!first) reverted_ += spent;
  // The trial may have shown why, and with that what is better than both.
  const auto next =
      std::find_if(look.options.begin(), before, [&](Option& option) {
        option.excluded = Objection(seen, option, *before, slowest);
        return option.excluded.empty();
      });
  if (first) reverted_ = spent;
  look.advised = next->text;
  look.gain = next->value / present.value;
  look.why = absl::StrFormat(
      "it is worth less than was predicted, %s, and is left again for %s",
      Speed(present), Speed(*next));
  SwitchTo(seen, *next, look);
  if (next == before) {
    trial_.reset();
  } else {
    trial_->from = before->text;
  }
  return true;
}

void AutoPilot::Refused(const BatchedParadigm& present, double now,
                        const std::string& why, double seconds) {
  Lock& lock = locks_[std::exchange(present_, FormatBatchedParadigm(present))];
  lock.active = true;
  lock.until = std::max(lock.until, now + seconds);
  lock.why = why;
  // What was to be given up for it is still on trial.
  if (trial_.has_value() && trial_->from == present_) trial_.reset();
  chose_early_ = false;
}

}  // namespace paceline
