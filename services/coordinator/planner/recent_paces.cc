#include "services/coordinator/planner/recent_paces.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "services/coordinator/planner/tempo.h"

namespace paceline {
namespace {

// Iterations of each worker before anything is foreseen. The second counts if
// times deviate by more than a quarter of their mean, on average over workers.
constexpr size_t kLeastMeasured = 4;
constexpr size_t kLeastScattering = 12;
constexpr double kScatters = 0.25;

// What counts as recent: so many iterations of the median worker, or of the
// slowest one if that is longer; and so many of each, however old.
constexpr double kRecentIterations = 48;
constexpr double kRecentOfSlowest = 12;
constexpr size_t kLeastRecent = 16;

// A worker has become another one if its latest iterations take so much longer
// or less, and that by far more than its times scatter.
constexpr size_t kLatest = 8;
constexpr double kOtherPace = 1.5;
constexpr double kDeviations = 3;

// Iterations that tell how fast a job is.
constexpr ptrdiff_t kEnoughForSpeed = 12;

// Of the seconds for a sample.
struct Spread {
  double mean = 0;
  double deviation = 0;
};

Spread SpreadOf(absl::Span<const MeasuredIteration> iterations) {
  double sum = 0;
  double squares = 0;
  for (const MeasuredIteration& it : iterations) {
    const double each = absl::ToDoubleSeconds(it.compute) / it.samples;
    sum += each;
    squares += each * each;
  }
  const auto count = static_cast<double>(iterations.size());
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean))};
}

absl::Span<const MeasuredIteration> Latest(const MeasuredWorker& worker) {
  const absl::Span<const MeasuredIteration> all = worker.iterations;
  return all.last(std::min(all.size(), kLatest));
}

bool IsAnother(const MeasuredWorker& worker) {
  const absl::Span<const MeasuredIteration> all = worker.iterations;
  if (all.size() < 2 * kLatest) return false;
  const Spread before = SpreadOf(all.first(all.size() - kLatest));
  const double now = SpreadOf(Latest(worker)).mean;
  const double ratio = now / before.mean;
  return (ratio > kOtherPace || ratio < 1 / kOtherPace) &&
         std::abs(now - before.mean) >
             kDeviations * before.deviation / std::sqrt(double{kLatest});
}

}  // namespace

std::string WhoIsUnmeasured(absl::Span<const MeasuredWorker> workers) {
  if (workers.empty()) return "no worker trains";
  double scatter = 0;
  for (const MeasuredWorker& worker : workers) {
    if (worker.iterations.empty()) continue;
    const Spread spread = SpreadOf(worker.iterations);
    scatter += spread.deviation / spread.mean;
  }
  const bool scatters =
      scatter > kScatters * static_cast<double>(workers.size());
  const size_t least = scatters ? kLeastScattering : kLeastMeasured;
  for (const MeasuredWorker& worker : workers) {
    if (worker.iterations.size() >= least) continue;
    return absl::StrCat("worker ", worker.name,
                        " is not measured yet: ", worker.iterations.size(),
                        " of ", least, " iterations");
  }
  return "";
}

void KeepRecent(const PlayedJob& job, double now,
                std::vector<MeasuredWorker>& workers) {
  std::vector<double> batches;
  batches.reserve(workers.size());
  for (const MeasuredWorker& worker : workers) {
    batches.push_back(SecondsOfBatch(job, worker));
  }
  std::ranges::sort(batches);
  const double from =
      now - std::max(kRecentIterations * batches[batches.size() / 2],
                     kRecentOfSlowest * batches.back());
  for (MeasuredWorker& worker : workers) {
    std::vector<MeasuredIteration>& its = worker.iterations;
    const auto old = std::ranges::find_if(
        its, [from](const MeasuredIteration& it) { return it.at >= from; });
    const size_t most = its.size() - std::min(its.size(), kLeastRecent);
    its.erase(its.begin(),
              std::min(old, its.begin() + static_cast<ptrdiff_t>(most)));
    if (!IsAnother(worker)) continue;
    its.erase(its.begin(), its.end() - ptrdiff_t{kLatest});
  }
}

double LatestPace(const MeasuredWorker& worker) {
  return SpreadOf(Latest(worker)).mean;
}

std::optional<double> MeasuredSpeed(absl::Span<const MeasuredWorker> workers,
                                    double since) {
  for (const MeasuredWorker& worker : workers) {
    since = std::max(since, worker.iterations.front().at);
  }
  const auto reports = [since](const MeasuredWorker& of) {
    return std::ranges::count_if(
        of.iterations,
        [since](const MeasuredIteration& it) { return it.at > since; });
  };
  // Counted from one report to another of the same worker: between them is a
  // whole number of rounds, where there are rounds.
  const MeasuredWorker& most = *std::ranges::max_element(workers, {}, reports);
  const ptrdiff_t count = reports(most);
  if (count < kEnoughForSpeed) return std::nullopt;
  // The first may have been granted before.
  const double from = (most.iterations.end() - count + 1)->at;
  const double until = most.iterations.back().at;
  if (until <= from) return std::nullopt;
  double samples = 0;
  for (const MeasuredWorker& worker : workers) {
    for (const MeasuredIteration& it : worker.iterations) {
      if (it.at <= from || it.at > until || it.discarded) continue;
      samples += it.samples;
    }
  }
  return samples / (until - from);
}

}  // namespace paceline
