#include "services/coordinator/planner/forecast.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/rng.h"
#include "services/coordinator/planner/tempo.h"
#include "services/coordinator/planner/worker_sample.h"
#include "services/coordinator/sync/core/ada_scale.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

// What a push that is as stale as there are other workers costs, and what it
// costs to be stale at all: by one update or more.
constexpr double kPriceOfStaleness = 0.6;
constexpr double kPriceOfAny = 0.1;

// Iterations of the slowest worker that are played, if that is not too many of
// all; and at least, for a rule to find its way.
constexpr double kIterations = 40;
constexpr double kLeastIterations = 12;
constexpr double kUsualPushes = 20'000;
constexpr double kMostPushes = 100'000;

// A rule measures the workers before it is what it can be.
constexpr double kWarmUp = 0.25;

// More workers than that are played by as many that stand for them. To play
// fewer takes less time but says less of the rules that make groups.
constexpr size_t kPlayedWhole = 150;
constexpr size_t kSample = 100;
// And by a few, which say what comes of it that some of more are later: so
// often, for one play depends on luck.
constexpr size_t kFew = 25;
constexpr uint64_t kPlaysOfFew = 2;

// Counts what the coordinator counts after the warm-up.
class Tally final : public ClusterObserver {
 public:
  Tally(Nanos from, Nanos until) : from_(from), until_(until) {}

  void Decided(Nanos at, const RunOutput& output) override {
    if (const auto* const counted = std::get_if<PushCounted>(&output)) {
      // Its version is the one after it.
      const bool alone = counted->version > version_;
      version_ = counted->version;
      if (at < from_) return;
      const double trained =
          static_cast<double>(counted->samples) - counted->discarded;
      samples_ += trained;
      stale_ += trained * static_cast<double>(counted->staleness);
      if (alone) {
        ++pushes_;
      } else {
        gathered_ += trained;
      }
    } else if (const auto* const command =
                   std::get_if<NumberedCommand>(&output)) {
      const auto* const close = std::get_if<CloseCommand>(&command->command);
      if (close == nullptr || !close->updates) return;
      ++version_;
      if (at >= from_) ++rounds_;
    }
  }

  Forecast ToForecast(double batch_size) const {
    Forecast forecast;
    forecast.samples_per_second = samples_ / ToSeconds(until_ - from_);
    if (samples_ > 0) {
      forecast.staleness = stale_ / samples_;
      forecast.in_rounds = gathered_ / samples_;
    }
    if (rounds_ > 0) {
      forecast.round_batches = gathered_ / (rounds_ * batch_size);
    }
    return forecast;
  }

  // The share of the updates that were single pushes.
  double SinglePushes() const {
    const double updates = pushes_ + rounds_;
    return updates > 0 ? pushes_ / updates : 0;
  }

 private:
  const Nanos from_;
  const Nanos until_;
  Version version_ = 0;
  double samples_ = 0;
  double stale_ = 0;     // Their staleness, added up.
  double gathered_ = 0;  // Those in rounds.
  double rounds_ = 0;    // That were closed.
  double pushes_ = 0;    // That were updates by themselves.
};

// What a pull took includes what a server parked it for, which another
// paradigm may not wait for.
absl::Duration UsualPull(const std::vector<MeasuredIteration>& iterations) {
  std::vector<absl::Duration> pulls;
  pulls.reserve(iterations.size());
  for (const MeasuredIteration& it : iterations) pulls.push_back(it.pull);
  const auto quarter = pulls.begin() + static_cast<ptrdiff_t>(pulls.size() / 4);
  std::nth_element(pulls.begin(), quarter, pulls.end());
  return *quarter;
}

WorkerSpec ToSpec(const PlayedJob& job, const MeasuredWorker& worker,
                  uint64_t luck) {
  const auto pull = absl::ToInt64Nanoseconds(UsualPull(worker.iterations));
  const double cost =
      job.micro_batch_cost * UncutBatch(job, TempoOf(worker.iterations));
  auto recorded = std::make_shared<std::vector<RecordedIteration>>();
  for (const MeasuredIteration& it : worker.iterations) {
    const double net = NetSeconds(it, cost) * 1e9;
    recorded->push_back({.compute = std::max<Nanos>(1, std::llround(net)),
                         .samples = it.samples,
                         .push = absl::ToInt64Nanoseconds(it.push),
                         .pull = pull});
  }
  WorkerSpec spec;
  spec.name = worker.name;
  spec.wishes = worker.wishes;
  spec.device.micro_batch = std::llround(cost * 1e9);
  spec.device.offset = luck % recorded->size();
  spec.device.recorded = std::move(recorded);
  return spec;
}

Nanos SpanOf(const PlayedJob& job, absl::Span<const MeasuredWorker> workers,
             bool in_full) {
  double slowest = 0;
  double pushes_per_second = 0;
  for (const MeasuredWorker& worker : workers) {
    const double each = SecondsOfBatch(job, worker);
    slowest = std::max(slowest, each);
    pushes_per_second += 1 / each;
  }
  if (in_full) return static_cast<Nanos>(kIterations * slowest * 1e9);
  const double usual =
      std::clamp(kUsualPushes / pushes_per_second, kLeastIterations * slowest,
                 kIterations * slowest);
  const double seconds = std::min(usual, kMostPushes / pushes_per_second);
  return static_cast<Nanos>(seconds * 1e9);
}

Tally PlayTallied(const ParadigmSpec& paradigm, const PlayedJob& job,
                  absl::Span<const MeasuredWorker> workers, uint64_t luck,
                  bool in_full = false) {
  CHECK(!workers.empty());
  ClusterSpec spec;
  for (size_t i = 0; i < workers.size(); ++i) {
    CHECK(!workers[i].iterations.empty());
    spec.workers.push_back(ToSpec(job, workers[i], DeriveSeed(luck, i)));
  }
  spec.run.paradigm = paradigm;
  spec.run.batch_size = job.batch_size;
  spec.settings.batching = job.batching;
  spec.micro_batch = job.micro_batch;
  // There are always more samples, and nobody falls silent.
  spec.train_samples = 1u << 30;
  spec.samples_end = false;
  spec.run.lease = absl::Hours(24 * 365);
  spec.end = SpanOf(job, workers, in_full);
  spec.seed = luck;
  Tally tally(static_cast<Nanos>(kWarmUp * static_cast<double>(spec.end)),
              spec.end);
  VirtualCluster(&spec, {&tally}).Run();
  return tally;
}

// By `most` workers that stand for all.  REQUIRES: AmongSome() of them.
Forecast PlaySample(const ParadigmSpec& paradigm, const PlayedJob& job,
                    absl::Span<const MeasuredWorker> workers, size_t most,
                    uint64_t luck) {
  const bool latest = AwaitsOf(paradigm) == Awaits::kAll;
  std::vector<MeasuredWorker> some;
  for (const Stratum& stratum : Stratify(job, workers, most)) {
    some.push_back(latest ? LatestOf(job, workers, stratum)
                          : workers[stratum.pick]);
  }
  const Tally tally =
      PlayTallied(*AmongSome(paradigm, most, workers.size()), job, some, luck);
  const double each =
      static_cast<double>(workers.size()) / static_cast<double>(most);
  Forecast forecast = tally.ToForecast(job.batch_size);
  forecast.samples_per_second *= each;
  // There are as many rounds, but more single pushes.
  forecast.staleness *= 1 + tally.SinglePushes() * (each - 1);
  forecast.round_batches *= each;
  return forecast;
}

Forecast PlayAny(const ParadigmSpec& paradigm, const PlayedJob& job,
                 absl::Span<const MeasuredWorker> workers, uint64_t luck) {
  const size_t all = workers.size();
  const bool whole = all <= kPlayedWhole || !AmongSome(paradigm, kFew, all);
  if (whole) {
    return PlayTallied(paradigm, job, workers, luck).ToForecast(job.batch_size);
  }
  Forecast forecast = PlaySample(paradigm, job, workers, kSample, luck);
  if (AwaitsOf(paradigm) != Awaits::kSome) return forecast;
  double few = 0;
  for (uint64_t i = 0; i < kPlaysOfFew; ++i) {
    few += PlaySample(paradigm, job, workers, kFew, DeriveSeed(luck, i))
               .samples_per_second /
           kPlaysOfFew;
  }
  if (few > forecast.samples_per_second) {
    const double fewer = double{kSample} / double{kFew};
    const double more = static_cast<double>(all) / double{kSample};
    forecast.samples_per_second *= std::pow(forecast.samples_per_second / few,
                                            std::log(more) / std::log(fewer));
  }
  return forecast;
}

Forecast WithEfficiency(const PlayedJob& job, Forecast forecast) {
  const double batches = forecast.round_batches;
  if (!job.noise.has_value() || !(batches > 0)) return forecast;
  const double in_round =
      std::min(1.0, AdaScaleGain(batches, *job.noise) / batches);
  forecast.efficiency = 1 - forecast.in_rounds * (1 - in_round);
  return forecast;
}

}  // namespace

double WorthOfStale(double staleness, size_t workers) {
  const double others = std::max<double>(1, static_cast<double>(workers) - 1);
  return 1 / (1 + kPriceOfStaleness * staleness / others +
              kPriceOfAny * std::min(1.0, staleness));
}

double Forecast::Value(size_t workers) const {
  return samples_per_second * efficiency * WorthOfStale(staleness, workers);
}

Forecast Play(const ParadigmSpec& paradigm, const PlayedJob& job,
              absl::Span<const MeasuredWorker> workers, uint64_t luck) {
  return WithEfficiency(job, PlayAny(paradigm, job, workers, luck));
}

Forecast PlayWhole(const ParadigmSpec& paradigm, const PlayedJob& job,
                   absl::Span<const MeasuredWorker> workers, uint64_t luck) {
  return WithEfficiency(
      job, PlayTallied(paradigm, job, workers, luck, /*in_full=*/true)
               .ToForecast(job.batch_size));
}

std::vector<std::string> ParadigmsFor(size_t workers, bool ada_scale) {
  std::vector<std::string> texts = {
      "bsp", "bsp,batching=balanced",       "bsp:steal=true", "cgp",
      "abs", "asp:staleness_weight=inverse"};
  if (workers > 2) {
    // A round of the first half, three quarters, seven eighths of the batches.
    for (const size_t eighths : {4, 6, 7}) {
      const std::string text = absl::StrCat(
          "kbatchsync:k=", std::max<size_t>(1, workers * eighths / 8));
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  // Of gradients that are all noise an update may have more.
  if (ada_scale) texts.push_back(absl::StrCat("kbatchsync:k=", 2 * workers));
  return texts;
}

}  // namespace paceline
