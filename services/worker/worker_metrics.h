#ifndef PACELINE_SERVICES_WORKER_WORKER_METRICS_H_
#define PACELINE_SERVICES_WORKER_WORKER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>

#include "common/metrics/series.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Every series a worker exports, declared here and nowhere else. Seconds of the
// five phases are one family, so that they stack.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(prometheus::Registry& registry) : registry_(registry) {
    // All of them are there from the beginning.
    for (const char* outcome : kOutcomes) Assignments(outcome);
  }

  // How an assignment ended.
  enum class AssignmentOutcome : uint8_t {
    kStopped,  // By the coordinator's word.
    kFailed,   // The worker could not take part.
    kLeft,     // The process ends.
    kBroken,   // A stream broke; the worker registers anew.
  };

  void AssignmentBegan() { assigned_.Increment(); }
  void AssignmentEnded(AssignmentOutcome outcome) {
    assigned_.Decrement();
    Assignments(kOutcomes[static_cast<size_t>(outcome)]).Increment();
  }

  // A parameter stream that broke was dialled again. From any thread.
  void Redialled() { redials_.Increment(); }

  // One iteration, as it is reported to the coordinator.
  void Observe(const v1::PushDone& report) {
    load_.Observe(report.seconds().load());
    compute_.Observe(report.seconds().compute());
    push_.Observe(report.seconds().push());
    wait_.Observe(report.seconds().wait());
    pull_.Observe(report.seconds().pull());
    iterations_.Increment();
    if (report.discarded()) discarded_.Increment();
    samples_.Increment(report.samples());
    push_bytes_.Increment(static_cast<double>(report.push_bytes()));
    pull_bytes_.Increment(static_cast<double>(report.pull_bytes()));
    if (!report.discarded()) loss_.Set(report.loss());
  }

 private:
  // In the order of AssignmentOutcome.
  static constexpr const char* kOutcomes[] = {"stopped", "failed", "left",
                                              "broken"};

  prometheus::Histogram& Phase(const char* phase) {
    return phases_.Add({{"phase", phase}}, DurationBuckets());
  }
  prometheus::Counter& Assignments(const char* outcome) {
    return assignments_.Add({{"outcome", outcome}});
  }

  prometheus::Registry& registry_;
  prometheus::Family<prometheus::Histogram>& phases_ =
      prometheus::BuildHistogram()
          .Name("paceline_worker_phase_seconds")
          .Help("Time of one iteration, by phase.")
          .Register(registry_);
  prometheus::Histogram& load_ = Phase("load");
  prometheus::Histogram& compute_ = Phase("compute");
  prometheus::Histogram& push_ = Phase("push");
  prometheus::Histogram& wait_ = Phase("wait");
  prometheus::Histogram& pull_ = Phase("pull");
  prometheus::Counter& iterations_ = CounterSeries(
      registry_, "paceline_worker_iterations_total", "Iterations pushed.");
  prometheus::Counter& discarded_ =
      CounterSeries(registry_, "paceline_worker_iterations_discarded_total",
                    "Iterations of which nothing was pushed, by their plan or "
                    "for a loss that is not finite.");
  prometheus::Counter& samples_ =
      CounterSeries(registry_, "paceline_worker_samples_total",
                    "Samples of pushed iterations.");
  prometheus::Counter& push_bytes_ = CounterSeries(
      registry_, "paceline_worker_push_bytes_total", "Payload bytes pushed.");
  prometheus::Counter& pull_bytes_ = CounterSeries(
      registry_, "paceline_worker_pull_bytes_total", "Payload bytes pulled.");
  prometheus::Counter& redials_ =
      CounterSeries(registry_, "paceline_worker_redials_total",
                    "Parameter streams that broke and were dialled again.");
  prometheus::Gauge& loss_ =
      GaugeSeries(registry_, "paceline_worker_loss",
                  "Mean loss of the last batch, in nats.");
  prometheus::Gauge& assigned_ = GaugeSeries(
      registry_, "paceline_worker_assigned",
      "1 while it has a job, else 0; with several iterations in flight "
      "how many of them have one.");
  prometheus::Family<prometheus::Counter>& assignments_ =
      prometheus::BuildCounter()
          .Name("paceline_worker_assignments_total")
          .Help("Assignments to a job that have ended.")
          .Register(registry_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_WORKER_METRICS_H_
