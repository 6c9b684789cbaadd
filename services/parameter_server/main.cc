// paceline-server: hosts blocks of a job's parameters. Logs go to stderr.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/metrics/serve_metrics.h"
#include "common/rpc/channel.h"
#include "common/rpc/stream_registry.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/parameter_server/command_runner.h"
#include "services/parameter_server/coordinator_link.h"
#include "services/parameter_server/parameter_service.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {
namespace {

struct Options {
  std::string coordinator;
  std::string name;
  std::string listen = "127.0.0.1:0";
  std::string metrics = "127.0.0.1:0";
};

// What the server does between commands: ends pulls that waited too long, and
// keeps the gauges up to date.
void Turn(Shard& shard, ServerMetrics& metrics) {
  const auto job = shard.Job();
  if (!job.ok()) return;
  (*job)->ExpirePulls(Clock::Real().Now());
  const ShardCounters counters = (*job)->Counters();
  metrics.parked_pulls.Set(static_cast<double>(counters.parked_pulls));
  metrics.open_rounds.Set(static_cast<double>(counters.open_rounds));
  metrics.snapshots.Set(static_cast<double>(counters.snapshots));
}

// In the reverse order of the start; every stage is bounded.
void Drain(Shard& shard, StreamRegistry& streams, grpc::Server& server) {
  // 1. Parked pulls end, new frames fail.
  shard.Stop("the server is stopping");
  // 2. Ends the streams whose peers still read.
  streams.CloseAll(absl::UnavailableError("the server is stopping"));
  // 3. Cancels the rest: a peer that stopped reading holds its last write.
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  // 4. Every OnDone() has run.
  streams.AwaitEmpty(absl::Seconds(5));
}

absl::Status Run(const Options& options) {
  auto registry = std::make_shared<prometheus::Registry>();
  ServerMetrics metrics(*registry);
  PACELINE_ASSIGN_OR_RETURN(const int metrics_port,
                            ServeMetrics(options.metrics, registry));
  Shard shard;
  StreamRegistry streams;
  ParameterService service(&shard, &Clock::Real(), &metrics, &streams);
  PACELINE_ASSIGN_OR_RETURN(
      const ListeningServer listening,
      Listen(options.listen, ChannelProfile::kBulk, &service));
  LogInfo("listening",
          {{"address", listening.address}, {"metrics_port", metrics_port}});
  CommandRunner runner(&shard, &metrics);
  CoordinatorLink link({options.coordinator, options.name, listening.address},
                       &runner, [&](absl::Duration lease) {
                         service.SetPullTimeout(lease);
                         Turn(shard, metrics);
                       });
  const SignalWatch signals([&](int) { link.Stop(); });
  const absl::Status outcome = link.Run();
  Drain(shard, streams, *listening.server);
  return outcome;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Holds a share of a paceline job's parameters.",
               "paceline-server"};
  app.add_option("--coordinator", options.coordinator, "host:port")->required();
  app.add_option("--name", options.name, "The member's name, s0")->required();
  app.add_option("--listen", options.listen, "host:port; port 0: any free one")
      ->capture_default_str();
  app.add_option("--metrics", options.metrics,
                 "host:port of /metrics; port 0: any free one")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  paceline::SignalWatch::Block();
  paceline::StartLogging("server " + options.name);
  const absl::Status status = paceline::Run(options);
  if (status.ok()) return 0;
  paceline::LogError(status.ToString());
  return 1;
}
