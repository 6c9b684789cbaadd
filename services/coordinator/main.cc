// paceline-coordinator: runs one job. Report lines go to stdout, logs to
// stderr.

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/log/log.h"
#include "common/metrics/serve_metrics.h"
#include "common/rpc/channel.h"
#include "common/rpc/stream_registry.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet_service.h"
#include "services/coordinator/job_run.h"
#include "services/coordinator/reporter.h"
#include "services/coordinator/trace_writer.h"

namespace paceline {
namespace {

struct Options {
  std::string job_file;
  std::string listen = "127.0.0.1:0";
  std::string metrics = "127.0.0.1:0";
  std::string record;  // Empty: nothing is recorded.
};

absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot read job file ", path));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  v1::JobSpec spec;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &spec);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job file ", path, ": ",
        std::string(status.message().data(), status.message().size())));
  }
  return spec;
}

// Incarnations must differ from those of an earlier life, so this one number
// comes from the machine; everything else is seeded by the job.
uint64_t Entropy() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// In the reverse order of the start; every stage is bounded.
void Drain(StreamRegistry& streams, grpc::Server& server) {
  // 1. The members have been told to stop: most close their streams now.
  streams.AwaitEmpty(absl::Seconds(2));
  // 2. Ends the streams whose peers still read.
  streams.CloseAll(absl::UnavailableError("the coordinator is stopping"));
  // 3. Cancels the rest: a peer that stopped reading holds its last write.
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  // 4. Every OnDone() has run.
  streams.AwaitEmpty(absl::Seconds(5));
}

absl::Status Run(const Options& options, Reporter& reporter) {
  PACELINE_ASSIGN_OR_RETURN(const v1::JobSpec spec, ReadJob(options.job_file));
  auto registry = std::make_shared<prometheus::Registry>();
  CoordinatorMetrics metrics(*registry);
  PACELINE_ASSIGN_OR_RETURN(
      const auto job,
      JobRun::Create(spec, Entropy(), &Clock::Real(), &reporter, &metrics));
  std::unique_ptr<TraceWriter> trace;
  if (!options.record.empty()) {
    PACELINE_ASSIGN_OR_RETURN(trace, TraceWriter::Create(options.record));
    job->RecordTo(trace.get());
  }
  PACELINE_ASSIGN_OR_RETURN(const int metrics_port,
                            ServeMetrics(options.metrics, registry));
  StreamRegistry streams;
  FleetService service(job.get(), &streams);
  PACELINE_ASSIGN_OR_RETURN(
      const ListeningServer listening,
      Listen(options.listen, ChannelProfile::kControl, &service));
  LogInfo("listening", {{"address", listening.address},
                        {"metrics_port", metrics_port},
                        {"lease_ms", spec.lease_ms()}});
  reporter.Report("listening", {{"address", listening.address}});
  const SignalWatch signals([&](int) {
    job->Cancel(absl::CancelledError("the coordinator was told to stop"));
  });
  const absl::Status outcome = job->Run();
  Drain(streams, *listening.server);
  return outcome;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Coordinates one paceline job.", "paceline-coordinator"};
  app.add_option("--job-file", options.job_file,
                 "The job: a paceline.v1.JobSpec in proto JSON")
      ->required();
  app.add_option("--listen", options.listen, "host:port; port 0: any free one")
      ->capture_default_str();
  app.add_option("--metrics", options.metrics,
                 "host:port of /metrics; port 0: any free one")
      ->capture_default_str();
  app.add_option("--record", options.record,
                 "Write every iteration's times to this file, a JSON object a "
                 "line, for `paceline simulate --trace`");
  CLI11_PARSE(app, argc, argv);

  paceline::SignalWatch::Block();
  paceline::StartLogging("coordinator");
  paceline::Reporter reporter(stdout);
  const absl::Status status = paceline::Run(options, reporter);
  if (status.ok()) return 0;
  paceline::LogError(status.ToString());
  reporter.Failed(status);
  return 1;
}
