#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_NOISE_WATCH_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_NOISE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "services/coordinator/run/course/gradient_noise.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// As far as it is one shard's, the mean gradient that a closing has applied.
struct ClosedGradient {
  uint64_t samples = 0;  // 0: the shard trains nothing.
  double square = 0;
};

// Finds the noise of a job's gradients in its rounds: which gradients an update
// was made of, each as its worker has reported it, and their mean, as the
// servers have measured it.
//
// An update counts if all of its gradients were computed from the same weights,
// count alike, and are known: the samples in the mean are those that were
// reported. Weights are the same by what the grants say: where a later pull may
// bring newer ones (`cgp`, `abs`), what they differ by counts as noise. Updates
// of single pushes say nothing: what is known stays as it is
// while a job trains asynchronously.
//
// Pure and deterministic. Thread-compatible.
class NoiseWatch {
 public:
  explicit NoiseWatch(uint32_t batch_size) : noise_(batch_size) {}

  // What the core says to workers and servers, and `shards` servers answer.
  void Granted(const Grant& grant);
  void Planned(const PlanCommand& plan);
  void Closed(const CloseCommand& close);
  void Answered(size_t shards, int shard, Closing closing,
                const ClosedGradient& mean);
  // The servers have what the worker reports; before the closing that it brings
  // about.
  void Pushed(WorkerId worker, const PushReport& report);
  // The worker is gone. Nothing happens if it is unknown.
  void Left(WorkerId worker) { open_.erase(worker); }

  std::optional<GradientNoise> noise() const { return noise_.mean(); }

 private:
  struct Open {
    Iteration iteration = 0;
    Version base = 0;
    PushPlan plan;
  };
  struct Gathered {
    bool known = true;
    std::optional<Version> base = std::nullopt;  // Of all of them.
    std::vector<MeasuredGradient> gradients = {};

    void Add(const Gathered& other);
  };
  struct Update {
    Closing closing = 0;
    Gathered gathered = {};
    std::set<int> answered = {};  // Shards.
    bool fits = true;
    double mean_square = 0;
    uint64_t samples = 0;
  };

  void Finish(const Update& update);

  SmoothedNoise noise_;
  std::map<WorkerId, Open> open_;
  std::map<RoundId, Gathered> rounds_;
  std::deque<Update> updates_;  // That servers have to answer, the latest last.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_NOISE_WATCH_H_
