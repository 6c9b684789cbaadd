#include "tests/integration/local_cluster.h"

#include <prometheus/registry.h>

#include <map>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/rpc/channel.h"
#include "common/status.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet_service.h"
#include "services/parameter_server/command_runner.h"
#include "services/parameter_server/coordinator_link.h"
#include "services/parameter_server/parameter_service.h"

namespace paceline {
namespace {

constexpr char kAnyPort[] = "127.0.0.1:0";

void Shutdown(StreamRegistry& streams, grpc::Server& server) {
  streams.AwaitEmpty(absl::Seconds(2));
  streams.CloseAll(absl::UnavailableError("the test is over"));
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  CHECK(streams.AwaitEmpty(absl::Seconds(10)));
}

}  // namespace

// One parameter server, as its main() wires it.
struct LocalCluster::Server {
  // `failed` hears of a link that ends with an error.
  Server(const std::string& coordinator, const std::string& name,
         std::function<void(const absl::Status&)> failed)
      : metrics(registry),
        service(&shard, &Clock::Real(), &metrics, &streams),
        runner(&shard, &metrics) {
    auto listens = Listen(kAnyPort, ChannelProfile::kBulk, &service);
    CHECK(listens.ok());
    listening = *std::move(listens);
    link = std::make_unique<CoordinatorLink>(
        CoordinatorLink::Options{coordinator, name, listening.address}, &runner,
        [this](absl::Duration lease) {
          service.SetPullTimeout(lease);
          const auto job = shard.Job();
          if (job.ok()) (*job)->ExpirePulls(Clock::Real().Now());
        });
    thread = std::thread([this, failed = std::move(failed)] {
      const absl::Status outcome = link->Run();
      if (!outcome.ok()) failed(outcome);
    });
  }
  ~Server() {
    link->Stop();
    thread.join();
    shard.Stop("the test is over");
    Shutdown(streams, *listening.server);
  }

  prometheus::Registry registry;
  ServerMetrics metrics;
  Shard shard;
  StreamRegistry streams;
  ParameterService service;
  CommandRunner runner;
  ListeningServer listening;
  std::unique_ptr<CoordinatorLink> link;
  std::thread thread;
};

struct LocalCluster::Parts {
  explicit Parts(const v1::JobSpec& spec)
      : metrics(registry), reporter(log.file()) {
    auto created = JobRun::Create(spec, /*entropy=*/1, &Clock::Real(),
                                  &reporter, &metrics);
    CHECK(created.ok());
    job = *std::move(created);
    service = std::make_unique<FleetService>(job.get(), &streams);
    auto listens = Listen(kAnyPort, ChannelProfile::kControl, service.get());
    CHECK(listens.ok());
    listening = *std::move(listens);
    for (uint32_t i = 0; i < spec.servers(); ++i) {
      servers.push_back(std::make_unique<Server>(
          listening.address, "s" + std::to_string(i),
          [this](const absl::Status& why) { job->Cancel(why); }));
    }
  }
  ~Parts() {
    servers.clear();
    Shutdown(streams, *listening.server);
  }

  ReportLog log;
  prometheus::Registry registry;
  CoordinatorMetrics metrics;
  Reporter reporter;
  StreamRegistry streams;
  std::unique_ptr<JobRun> job;
  std::unique_ptr<FleetService> service;
  ListeningServer listening;
  std::vector<std::unique_ptr<Server>> servers;
};

LocalCluster::LocalCluster(const v1::JobSpec& job)
    : parts_(std::make_unique<Parts>(job)) {}

LocalCluster::~LocalCluster() = default;

const std::string& LocalCluster::address() const {
  return parts_->listening.address;
}

absl::Status LocalCluster::Run() { return parts_->job->Run(); }

void LocalCluster::Cancel() {
  parts_->job->Cancel(absl::CancelledError("the test has seen enough"));
}

const ReportLog& LocalCluster::reports() const { return parts_->log; }

nlohmann::json LocalCluster::result() const {
  const auto results = parts_->log.Of("result");
  return results.empty() ? nlohmann::json() : results.back()["run"];
}

absl::StatusOr<std::vector<std::vector<float>>> LocalCluster::FinalWeights()
    const {
  // By tensor and offset: blocks of one tensor may lie on several servers.
  std::map<std::pair<uint32_t, uint64_t>, std::vector<float>> pieces;
  for (const auto& server : parts_->servers) {
    PACELINE_ASSIGN_OR_RETURN(const auto job, server->shard.Job());
    std::map<uint32_t, const BlockConfig*> configs;
    for (const BlockConfig& block : job->config().blocks) {
      configs[block.id] = &block;
    }
    absl::StatusOr<PulledBlocks> pulled = absl::UnknownError("not answered");
    absl::Notification answered;
    job->Pull({/*owner=*/0, /*incarnation=*/0, absl::InfiniteFuture()},
              /*closing=*/0, [&](absl::StatusOr<PulledBlocks> blocks) {
                pulled = std::move(blocks);
                answered.Notify();
              });
    answered.WaitForNotificationWithTimeout(absl::Seconds(10));
    PACELINE_RETURN_IF_ERROR(pulled.status());
    for (const PulledBlock& block : pulled->blocks) {
      const BlockConfig& config = *configs.at(block.id);
      const auto tensor =
          static_cast<uint32_t>(std::stoul(config.tensor.substr(1)));
      pieces[{tensor, config.offset}] = {
          block.state->weights(), block.state->weights() + block.state->size()};
    }
  }
  std::vector<std::vector<float>> tensors;
  for (const auto& [place, values] : pieces) {
    if (place.first >= tensors.size()) tensors.resize(place.first + 1);
    std::vector<float>& tensor = tensors[place.first];
    tensor.insert(tensor.end(), values.begin(), values.end());
  }
  return tensors;
}

v1::JobSpec SmallJob(const std::string& paradigm, uint32_t workers,
                     uint32_t servers) {
  v1::JobSpec job;
  job.set_model("mlp");
  job.set_data("synthetic:tiny");
  job.set_paradigm(paradigm);
  job.set_optimizer("sgd");
  job.set_learning_rate(0.05);
  job.set_schedule("constant");
  job.set_batch_size(32);
  job.set_epochs(1);
  job.set_seed(7);
  job.set_wire(v1::FP32);
  job.set_round_strength("linear");
  job.set_workers(workers);
  job.set_servers(servers);
  job.set_lease_ms(TestLeaseMs());
  return job;
}

uint32_t TestLeaseMs() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 9000;
#else
  return 3000;
#endif
}

}  // namespace paceline
