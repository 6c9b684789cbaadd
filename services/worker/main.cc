// paceline-worker: computes gradients, or evaluates. Logs go to stderr.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/log/log.h"
#include "common/metrics/serve_metrics.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/worker/pace/pace_spec.h"
#include "services/worker/worker.h"
#include "services/worker/worker_metrics.h"

namespace paceline {
namespace {

struct Options {
  std::string coordinator;
  std::string name;
  std::string metrics = "127.0.0.1:0";
  std::string slowdown;
  std::string step_time;
  std::string delay;
  std::string pause;
  int threads = 1;
  bool evaluator = false;
  bool low_priority = false;
};

absl::Status Run(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(const PaceSpec pace,
                            ParsePace({options.slowdown, options.step_time,
                                       options.delay, options.pause}));
  if (options.low_priority) setpriority(PRIO_PROCESS, 0, 19);
  auto registry = std::make_shared<prometheus::Registry>();
  WorkerMetrics metrics(*registry);
  PACELINE_ASSIGN_OR_RETURN(const int metrics_port,
                            ServeMetrics(options.metrics, registry));
  LogInfo("started", {{"metrics_port", metrics_port}});
  Worker worker({options.coordinator, options.name, options.evaluator, pace,
                 BackendOptions{options.threads}},
                &metrics);
  const SignalWatch signals([&](int) { worker.Leave(); });
  return worker.Run();
}

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("--coordinator", options.coordinator, "host:port")->required();
  app.add_option("--name", options.name, "The member's name, w0")->required();
  app.add_option("--metrics", options.metrics,
                 "host:port of /metrics; port 0: any free one")
      ->capture_default_str();
  app.add_flag("--evaluator", options.evaluator,
               "Takes evaluation tasks instead of grants");
  app.add_flag("--low-priority", options.low_priority,
               "Lets other processes go first");
  app.add_option("--threads", options.threads, "Threads of the matrix products")
      ->capture_default_str();
  app.add_option("--slowdown", options.slowdown,
                 "Imitates a device so many times slower");
  app.add_option("--step-time", options.step_time,
                 "Imitates a device that needs this long for a full batch");
  app.add_option("--delay", options.delay,
                 "Adds a random time to every iteration: "
                 "normal:mean=5ms,sd=2ms, exponential:mean=10ms, ...");
  app.add_option("--pause", options.pause,
                 "Stands still now and then: every=10s,for=2s");
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Computes gradients of a paceline job.", "paceline-worker"};
  paceline::AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);

  paceline::SignalWatch::Block();
  paceline::StartLogging("worker " + options.name);
  const absl::Status status = paceline::Run(options);
  if (status.ok()) return 0;
  paceline::LogError(status.ToString());
  return 1;
}
