#include "services/coordinator/planner/forecast.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/micro_batches.h"
#include "common/rng.h"
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

// Iterations of a worker, cut and uncut, that tell them apart.
constexpr size_t kEachKind = 3;
constexpr double kMostMicroBatchCost = 1;

// A rule measures the workers before it is what it can be.
constexpr double kWarmUp = 0.25;

// Counts what the coordinator counts after the warm-up.
class Tally final : public ClusterObserver {
 public:
  explicit Tally(Nanos from) : from_(from) {}

  void Decided(Nanos at, const RunOutput& output) override {
    const auto* const counted = std::get_if<PushCounted>(&output);
    if (counted == nullptr || at < from_) return;
    const double trained =
        static_cast<double>(counted->samples) - counted->discarded;
    samples_ += trained;
    stale_ += trained * static_cast<double>(counted->staleness);
  }

  Forecast Over(Nanos until) const {
    Forecast forecast;
    forecast.samples_per_second = samples_ / ToSeconds(until - from_);
    if (samples_ > 0) forecast.staleness = stale_ / samples_;
    return forecast;
  }

 private:
  const Nanos from_;
  double samples_ = 0;
  double stale_ = 0;  // Their staleness, added up.
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

// Seconds of computing for each sample: of iterations that are alike cut, or
// of all.
struct Tempo {
  size_t iterations = 0;
  double seconds = 0;
  double samples = 0;
  double extra = 0;  // Micro-batches after the first.

  void Add(const MeasuredIteration& it) {
    ++iterations;
    seconds += absl::ToDoubleSeconds(it.compute);
    samples += it.samples;
    extra += it.micro_batches - 1.0;
  }
};

Tempo TempoOf(const std::vector<MeasuredIteration>& iterations) {
  Tempo tempo;
  for (const MeasuredIteration& it : iterations) tempo.Add(it);
  return tempo;
}

// Of computing a full batch as a whole, in seconds.
double UncutBatch(const PlayedJob& job, const Tempo& tempo) {
  return tempo.seconds /
         (tempo.samples / job.batch_size + job.micro_batch_cost * tempo.extra);
}

WorkerSpec ToSpec(const PlayedJob& job, const MeasuredWorker& worker,
                  uint64_t luck) {
  const auto pull = absl::ToInt64Nanoseconds(UsualPull(worker.iterations));
  const double cost =
      job.micro_batch_cost * UncutBatch(job, TempoOf(worker.iterations)) * 1e9;
  auto recorded = std::make_shared<std::vector<RecordedIteration>>();
  for (const MeasuredIteration& it : worker.iterations) {
    const auto compute =
        static_cast<double>(absl::ToInt64Nanoseconds(it.compute));
    // However short it was, not all of it was for the cuts.
    const double net =
        std::max(compute - cost * (it.micro_batches - 1.0), compute / 4);
    recorded->push_back({.compute = std::max<Nanos>(1, std::llround(net)),
                         .samples = it.samples,
                         .push = absl::ToInt64Nanoseconds(it.push),
                         .pull = pull});
  }
  WorkerSpec spec;
  spec.name = worker.name;
  spec.wishes = worker.wishes;
  spec.device.micro_batch = std::llround(cost);
  spec.device.offset = luck % recorded->size();
  spec.device.recorded = std::move(recorded);
  return spec;
}

Nanos SpanOf(const PlayedJob& job, absl::Span<const MeasuredWorker> workers) {
  double slowest = 0;
  double pushes_per_second = 0;
  for (const MeasuredWorker& worker : workers) {
    const double each = SecondsOfBatch(job, worker);
    slowest = std::max(slowest, each);
    pushes_per_second += 1 / each;
  }
  const double usual =
      std::clamp(kUsualPushes / pushes_per_second, kLeastIterations * slowest,
                 kIterations * slowest);
  const double seconds = std::min(usual, kMostPushes / pushes_per_second);
  return static_cast<Nanos>(seconds * 1e9);
}

}  // namespace

uint32_t UncutMicroBatches(const PlayedJob& job, const SampleWishes& wishes,
                           uint32_t samples) {
  const uint32_t limit =
      MicroBatchLimit(job.batch_size, job.micro_batch, wishes.micro_batch, 0);
  return (samples + limit - 1) / limit;
}

std::optional<double> MicroBatchCost(const PlayedJob& job,
                                     absl::Span<const MeasuredWorker> workers) {
  double longer = 0;  // Than uncut, in full batches' time,
  double extra = 0;   // of so many micro-batches more.
  for (const MeasuredWorker& worker : workers) {
    Tempo uncut;
    Tempo cut;
    for (const MeasuredIteration& it : worker.iterations) {
      const bool whole =
          it.micro_batches <= UncutMicroBatches(job, worker.wishes, it.samples);
      (whole ? uncut : cut).Add(it);
    }
    if (uncut.iterations < kEachKind || cut.iterations < kEachKind) continue;
    const double batch = uncut.seconds / uncut.samples * job.batch_size;
    longer += cut.seconds / batch - cut.samples / job.batch_size;
    // The uncut ones have some, too, if the job has micro-batches.
    extra += cut.extra - uncut.extra * cut.samples / uncut.samples;
  }
  if (extra <= 0) return std::nullopt;
  return std::clamp(longer / extra, 0.0, kMostMicroBatchCost);
}

double SecondsOfBatch(const PlayedJob& job, const MeasuredWorker& worker) {
  absl::Duration pushes;
  for (const MeasuredIteration& it : worker.iterations) pushes += it.push;
  const Tempo tempo = TempoOf(worker.iterations);
  return UncutBatch(job, tempo) +
         absl::ToDoubleSeconds(pushes) / static_cast<double>(tempo.iterations);
}

double WorthOfStale(double staleness, size_t workers) {
  const double others = std::max<double>(1, static_cast<double>(workers) - 1);
  return 1 / (1 + kPriceOfStaleness * staleness / others +
              kPriceOfAny * std::min(1.0, staleness));
}

double Forecast::Value(size_t workers) const {
  return samples_per_second * WorthOfStale(staleness, workers);
}

Forecast Play(const ParadigmSpec& paradigm, const PlayedJob& job,
              absl::Span<const MeasuredWorker> workers, uint64_t luck) {
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
  spec.end = SpanOf(job, workers);
  spec.seed = luck;
  Tally tally(static_cast<Nanos>(kWarmUp * static_cast<double>(spec.end)));
  VirtualCluster(&spec, {&tally}).Run();
  return tally.Over(spec.end);
}

std::vector<std::string> ParadigmsFor(size_t workers) {
  std::vector<std::string> texts = {"bsp", "bsp:steal=true", "cgp", "abs",
                                    "asp:staleness_weight=inverse"};
  if (workers > 2) {
    // A round of the first half, three quarters, seven eighths of the batches.
    for (const size_t eighths : {4, 6, 7}) {
      const std::string text = absl::StrCat(
          "kbatchsync:k=", std::max<size_t>(1, workers * eighths / 8));
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  return texts;
}

}  // namespace paceline
