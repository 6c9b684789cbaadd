#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_RECORD_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_RECORD_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/int_histogram.h"
#include "services/coordinator/run/course/training_view.h"
#include "services/coordinator/run/recent_rate.h"
#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// What one run has measured so far; renders the progress and result documents.
// Seconds count from Begin(). Workers are told apart by name, so that one that
// comes back after a loss goes on in its own row.
//
// Thread-compatible.
class RunRecord {
 public:
  RunRecord(std::string paradigm, const v1::StopConditions& stop)
      : paradigm_(std::move(paradigm)), stop_(stop) {}

  // `now` is the first grant; `before`: the training time of the runs that this
  // one goes on from.
  void Begin(absl::Time now, absl::Duration before, int64_t parameters,
             int64_t train_samples);
  void SetStop(const v1::StopConditions& stop);
  // Another one than at first, before Begin().
  void SetParadigm(const std::string& paradigm);
  void Granted(const std::string& worker);
  // The core counted a push; its worker's report went before, unless the
  // worker is lost.
  void Counted(const std::string& worker, const PushCounted& counted,
               absl::Time now);
  void Reported(const std::string& worker, const v1::PushDone& report);
  // After its push the worker was not released at once.
  void Held(const std::string& worker);
  void Switched(const paceline::Switched& switched);
  void Settled(const SwitchSettled& settled);
  void Lost(const std::string& worker);
  void Evaluated(const AccuracyPoint& point);

  // Counts how often the worker was held for not being the fastest.
  void Decided(const std::string& worker, const Decision& decision);

  double SecondsAt(absl::Time now) const;
  // Those of the runs that this one goes on from.
  double seconds_before() const { return absl::ToDoubleSeconds(before_); }
  // The latest one by its moment, if there was any.
  std::optional<AccuracyPoint> newest_evaluation() const {
    if (accuracy_.empty()) return std::nullopt;
    return accuracy_.back();
  }
  // Counted of that worker; 0 of one that is not known.
  int64_t SamplesOf(const std::string& worker) const;

  // All but phase and paradigm.
  void Progress(const TrainingView& view,
                const std::map<WorkerId, std::string>& names, absl::Time now,
                v1::JobProgress& progress) const;
  // One element of "runs".
  nlohmann::ordered_json Result(const TrainingView& view) const;

 private:
  struct WorkerRow {
    int64_t iterations = 0;
    int64_t samples = 0;
    int64_t samples_discarded = 0;
    double load = 0, compute = 0, push = 0, wait = 0, pull = 0;
    double longest_wait = 0;
    int64_t held = 0;              // Pushes after which it had to wait.
    int64_t held_not_fastest = 0;  // Of these: because of that (DSSP).
    IntHistogram gap;
    IntHistogram staleness;
    const char* state = "waiting";
  };

  void AddWorkers(const TrainingView& view,
                  const std::map<WorkerId, std::string>& names,
                  v1::JobProgress& progress) const;
  nlohmann::ordered_json WorkerResult(const std::string& name,
                                      const WorkerRow& row) const;

  std::string paradigm_;  // At the beginning.
  v1::StopConditions stop_;
  int64_t parameters_ = 0;
  int64_t train_samples_ = 0;
  std::optional<absl::Time> began_;  // Less the time of the runs before.
  absl::Duration before_;
  RecentRate rate_;
  double last_push_seconds_ = 0;
  int64_t pushes_ = 0;
  int64_t discarded_ = 0;
  int64_t refused_blocks_ = 0;
  uint64_t push_bytes_ = 0;
  uint64_t pull_bytes_ = 0;
  std::optional<double> loss_;  // Smoothed.
  std::map<std::string, WorkerRow> workers_;
  std::vector<AccuracyPoint> accuracy_;
  struct PastSwitch {
    paceline::Switched what;
    double seconds;
    std::optional<double> took;  // Once it has settled.
  };
  std::vector<PastSwitch> switches_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_RECORD_H_
