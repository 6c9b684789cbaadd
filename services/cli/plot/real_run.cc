#include "services/cli/plot/real_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/plot/plot_page.h"
#include "services/simulator/timeline.h"

namespace paceline {
namespace {

constexpr double kNanosPerSecond = 1e9;

double LengthOf(const v1::PhaseSeconds& seconds) {
  return seconds.wait() + seconds.pull() + seconds.load() + seconds.compute() +
         seconds.push();
}

// A worker's spans, from the begin of the training on.
class Lane {
 public:
  // In the order of their reports. What would be before the end of the one
  // before is cut off.
  void Add(const v1::Iteration& iteration) {
    const v1::PhaseSeconds& phases = iteration.phases();
    const double parked = std::min(phases.parked(), phases.pull());
    double at = iteration.seconds() - LengthOf(phases);
    Extend(WorkerPhase::kAbsent, at);
    Extend(WorkerPhase::kWait, at += phases.wait() + parked);
    Extend(WorkerPhase::kPull, at += phases.pull() - parked);
    Extend(WorkerPhase::kCompute, at += phases.load() + phases.compute());
    Extend(WorkerPhase::kPush, at + phases.push());
  }

  Json TakeSpans() { return std::move(spans_); }
  int64_t end() const { return end_; }

 private:
  void Extend(WorkerPhase phase, double until) {
    const int64_t end = std::llround(until * kNanosPerSecond);
    if (end <= end_) return;
    spans_.push_back(static_cast<int>(phase));
    spans_.push_back(end - end_);
    end_ = end;
  }

  Json spans_ = Json::array();
  int64_t end_ = 0;
};

// Those that are drawn.
std::vector<const v1::Iteration*> LastOf(
    const v1::ListIterationsResponse& listed) {
  std::vector<const v1::Iteration*> all(listed.iterations().pointer_begin(),
                                        listed.iterations().pointer_end());
  all.erase(all.begin(), all.end() - static_cast<ptrdiff_t>(std::min(
                                         all.size(), kIterationsDrawn)));
  return all;
}

// The second of training from which on all that there was is in them.
double KnownFrom(const std::vector<const v1::Iteration*>& iterations) {
  if (iterations.front()->sequence() == 1) return 0;
  double begin = iterations.front()->seconds();
  for (const v1::Iteration* const iteration : iterations) {
    begin =
        std::min(begin, iteration->seconds() - LengthOf(iteration->phases()));
  }
  return std::max(0.0, begin);
}

// Several decisions tell of one loss, as of the samples that are dealt again.
Json LostWorkers(const v1::ListDecisionsResponse& decided) {
  constexpr double kOneLoss = 1;  // Seconds.
  std::map<std::string, double> last;
  Json lost = Json::array();
  for (const v1::Decision& decision : decided.decisions()) {
    if (decision.kind() != "worker-lost") continue;
    const auto [known, is_first] =
        last.try_emplace(decision.worker(), decision.seconds());
    const double since = decision.seconds() - known->second;
    known->second = decision.seconds();
    if (!is_first && since >= 0 && since < kOneLoss) continue;
    lost.push_back(
        {{"worker", decision.worker()}, {"seconds", decision.seconds()}});
  }
  return lost;
}

// Of all workers together.
double WaitingShare(const Json& workers) {
  double all = 0;
  double waiting = 0;
  for (const Json& worker : workers) {
    const Json* const seconds = FindField(worker, "seconds");
    if (seconds == nullptr) continue;
    for (const char* const phase :
         {"load", "compute", "push", "wait", "pull"}) {
      all += NumberField(*seconds, phase).value_or(0);
    }
    waiting += NumberField(*seconds, "wait").value_or(0);
  }
  return all > 0 ? waiting / all : 0;
}

// {"max"} of the field of that name of all workers.
Json LargestOf(const Json& workers, absl::string_view name) {
  int64_t largest = 0;
  for (const Json& worker : workers) {
    const Json* const spread = FindField(worker, name);
    if (spread == nullptr) continue;
    largest = std::max(largest, IntegerField(*spread, "max"));
  }
  return {{"max", largest}};
}

}  // namespace

Json RealTimeline(const Json& report, const v1::ListIterationsResponse& listed,
                  const v1::ListDecisionsResponse& decided) {
  const Json* const workers = FindField(report, "workers");
  if (listed.iterations().empty() || workers == nullptr) return nullptr;
  const std::vector<const v1::Iteration*> iterations = LastOf(listed);
  std::map<std::string, Lane> lanes;
  for (const v1::Iteration* const iteration : iterations) {
    lanes[iteration->worker()].Add(*iteration);
  }
  const double begin = KnownFrom(iterations);
  int64_t end = 0;
  Json rows = Json::array();
  for (const Json& worker : *workers) {
    Lane& lane = lanes[TextField(worker, "worker")];
    end = std::max(end, lane.end());
    rows.push_back(lane.TakeSpans());
  }
  const double seconds = static_cast<double>(end) / kNanosPerSecond;
  return {{"begin", begin},         {"seconds", seconds},
          {"full", false},          {"lost", LostWorkers(decided)},
          {"phases", PhaseNames()}, {"workers", std::move(rows)}};
}

Json DrawnRealRun(Json report, const std::string& name, Json timeline) {
  report["name"] = name;
  report["timeline"] = std::move(timeline);
  const std::optional<double> seconds = NumberField(report, "seconds");
  if (seconds.has_value() && *seconds > 0) {
    report["samples_per_second"] =
        static_cast<double>(IntegerField(report, "samples")) / *seconds;
  }
  const Json* const found = FindField(report, "workers");
  const Json workers = found != nullptr ? *found : Json::array();
  report["waiting_share"] = WaitingShare(workers);
  report["gap"] = LargestOf(workers, "gap");
  report["staleness"] = LargestOf(workers, "staleness");
  return report;
}

std::string LeftOutOf(const std::vector<Json>& runs) {
  std::vector<std::string> without;
  for (const Json& run : runs) {
    const Json* const timeline = FindField(run, "timeline");
    if (timeline == nullptr || timeline->is_null()) {
      without.push_back(TextField(run, "name"));
    }
  }
  std::string left_out =
      "Left out is how gaps and staleness are distributed, which only "
      "simulations keep";
  if (!without.empty()) {
    absl::StrAppend(&left_out, ", and what the workers did in ",
                    absl::StrJoin(without, ", "),
                    ", of which the coordinator keeps no iterations any more");
  }
  return absl::StrCat(left_out, ".");
}

}  // namespace paceline
