#ifndef PACELINE_SERVICES_WORKER_WORKER_METRICS_H_
#define PACELINE_SERVICES_WORKER_WORKER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "common/metrics/series.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Every series a worker exports, declared here and nowhere else. Seconds of the
// five phases are one family, so that they stack.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(prometheus::Registry& registry)
      : phases_(prometheus::BuildHistogram()
                    .Name("paceline_worker_phase_seconds")
                    .Help("Time of one iteration, by phase.")
                    .Register(registry)),
        load_(Phase("load")),
        compute_(Phase("compute")),
        push_(Phase("push")),
        wait_(Phase("wait")),
        pull_(Phase("pull")),
        iterations_(CounterSeries(registry, "paceline_worker_iterations_total",
                                  "Iterations pushed.")),
        discarded_(CounterSeries(
            registry, "paceline_worker_iterations_discarded_total",
            "Iterations given up for a loss that is not finite.")),
        samples_(CounterSeries(registry, "paceline_worker_samples_total",
                               "Samples of pushed iterations.")),
        push_bytes_(CounterSeries(registry, "paceline_worker_push_bytes_total",
                                  "Payload bytes pushed.")),
        pull_bytes_(CounterSeries(registry, "paceline_worker_pull_bytes_total",
                                  "Payload bytes pulled.")),
        loss_(GaugeSeries(registry, "paceline_worker_loss",
                          "Mean loss of the last batch, in nats.")),
        assigned_(GaugeSeries(registry, "paceline_worker_assigned",
                              "1 while it has a job, else 0.")),
        assignments_(prometheus::BuildCounter()
                         .Name("paceline_worker_assignments_total")
                         .Help("Assignments to a job that have ended.")
                         .Register(registry)),
        stopped_(Outcome("stopped")),
        failed_(Outcome("failed")),
        left_(Outcome("left")),
        broken_(Outcome("broken")) {}

  // How an assignment ended.
  enum class AssignmentOutcome {
    kStopped,  // By the coordinator's word.
    kFailed,   // The worker could not take part.
    kLeft,     // The process ends.
    kBroken,   // A stream broke; the worker registers anew.
  };

  void AssignmentBegan() { assigned_.Set(1); }
  void AssignmentEnded(AssignmentOutcome outcome) {
    assigned_.Set(0);
    switch (outcome) {
      case AssignmentOutcome::kStopped:
        return stopped_.Increment();
      case AssignmentOutcome::kFailed:
        return failed_.Increment();
      case AssignmentOutcome::kLeft:
        return left_.Increment();
      case AssignmentOutcome::kBroken:
        return broken_.Increment();
    }
  }

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
  prometheus::Histogram& Phase(const char* phase) {
    return phases_.Add({{"phase", phase}}, DurationBuckets());
  }
  prometheus::Counter& Outcome(const char* outcome) {
    return assignments_.Add({{"outcome", outcome}});
  }

  prometheus::Family<prometheus::Histogram>& phases_;
  prometheus::Histogram& load_;
  prometheus::Histogram& compute_;
  prometheus::Histogram& push_;
  prometheus::Histogram& wait_;
  prometheus::Histogram& pull_;
  prometheus::Counter& iterations_;
  prometheus::Counter& discarded_;
  prometheus::Counter& samples_;
  prometheus::Counter& push_bytes_;
  prometheus::Counter& pull_bytes_;
  prometheus::Gauge& loss_;
  prometheus::Gauge& assigned_;
  prometheus::Family<prometheus::Counter>& assignments_;
  prometheus::Counter& stopped_;
  prometheus::Counter& failed_;
  prometheus::Counter& left_;
  prometheus::Counter& broken_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_WORKER_METRICS_H_
