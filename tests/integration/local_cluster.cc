#include "tests/integration/local_cluster.h"

#include <prometheus/registry.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/rpc/channel.h"
#include "common/security/call_guard.h"
#include "common/status.h"
#include "services/coordinator/admin/admin_services.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/fleet/fleet_service.h"
#include "services/parameter_server/command_runner.h"
#include "services/parameter_server/coordinator_link.h"
#include "services/parameter_server/parameter_service.h"
#include "services/parameter_server/replication_service.h"
#include "tests/common/sanitized.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

constexpr char kAnyPort[] = "127.0.0.1:0";
constexpr char kParent[] = "namespaces/default";
constexpr char kName[] = "namespaces/default/jobs/test";

void Shutdown(StreamRegistry& streams, RpcServer& server) {
  streams.CloseAll(absl::UnavailableError("the test is over"));
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  CHECK(streams.AwaitEmpty(absl::Seconds(10)));
}

ListeningServer ListenAnywhere(ChannelProfile profile,
                               ConnectionAccounts* accounts,
                               const std::vector<grpc::Service*>& services) {
  ListenOptions options;
  options.accounts = accounts;
  auto listens = Listen(kAnyPort, profile, ServerSecurity(), services, options);
  CHECK(listens.ok());
  return *std::move(listens);
}

JobsOptions OptionsOf(const std::string& folder, bool journals) {
  JobsOptions options;
  options.lease = TestLease();
  options.checkpoint_root = folder;
  if (journals) options.journal_root = folder;
  options.entropy = 1;
  return options;
}

}  // namespace

// One parameter server, as its main() wires it.
struct LocalCluster::Server {
  Server(const std::string& coordinator, const std::string& name)
      : metrics(registry),
        guard(ServerSecurity(), {}, &Clock::Real(), &accounts),
        lanes(*LaneDoor::Open()),
        service(&shard, &Clock::Real(), &metrics, &streams, &guard,
                lanes.get()),
        replication(&shard, &streams, &guard),
        listening(ListenAnywhere(ChannelProfile::kBulk, &accounts,
                                 {&service, &replication})),
        runner(&shard, &metrics, {},
               [](const std::string& address, absl::Duration liveness) {
                 return MakeChannel(address, ChannelProfile::kBulk, liveness);
               }),
        link({.connect =
                  [coordinator](absl::Duration liveness) {
                    return MakeChannel(coordinator, ChannelProfile::kControl,
                                       liveness);
                  },
              .name = name,
              .address = listening.address,
              .version = "test"},
             &runner,
             [this](absl::Duration lease) {
               service.SetPullTimeout(lease);
               runner.SetLease(lease);
               runner.TakeTurn(Clock::Real().Now());
             }),
        thread([this] { CHECK(link.Run().ok()); }) {}
  ~Server() {
    link.Stop(absl::ZeroDuration());
    thread.join();
    shard.Stop("the test is over");
    Shutdown(streams, *listening.server);
  }

  prometheus::Registry registry;
  ServerMetrics metrics;
  Shard shard;
  StreamRegistry streams;
  ConnectionAccounts accounts;
  CallGuard guard;
  const std::unique_ptr<LaneDoor> lanes;
  ParameterService service;
  ReplicationService replication;
  ListeningServer listening;
  CommandRunner runner;
  CoordinatorLink link;
  std::thread thread;
};

struct LocalCluster::Parts {
  Parts(uint32_t count, bool journals)
      : store(*JobStore::Open(":memory:")),
        journal(store.get()),
        jobs(*Jobs::Create(OptionsOf(folder.path(), journals), &Clock::Real(),
                           store.get(), &journal, &registry)),
        guard(ServerSecurity(), {}, &Clock::Real(), &accounts),
        answering(&guard, &journal),
        fleet_metrics(registry),
        sockets(*LaneDoor::Open()),
        fleet(MakeFleetService(&jobs->fleet(), &guard, &streams, &fleet_metrics,
                               sockets.get())),
        job_admin(MakeJobService(jobs.get(), &answering, &streams, &pump)),
        cluster_admin(MakeClusterService(jobs.get(), &answering, absl::Now())),
        listening(ListenAnywhere(
            ChannelProfile::kControl, &accounts,
            {fleet.get(), job_admin.get(), cluster_admin.get()})) {
    for (uint32_t i = 0; i < count; ++i) {
      servers.push_back(
          std::make_unique<Server>(listening.address, absl::StrCat("s", i)));
    }
  }
  ~Parts() {
    servers.clear();
    Shutdown(streams, *listening.server);
  }

  v1::Job Job() const {
    v1::GetJobRequest request;
    request.set_name(kName);
    return jobs->GetJob(request).value();
  }

  // Takes over what has happened.
  void Read() {
    absl::MutexLock lock(&mu);
    while (auto event = events->Next(cursor)) seen.push_back(*std::move(event));
  }

  const TestFolder folder;
  prometheus::Registry registry;
  std::unique_ptr<JobStore> store;
  JobJournal journal;
  std::unique_ptr<Jobs> jobs;
  ConnectionAccounts accounts;
  CallGuard guard;
  Answering answering;
  StreamRegistry streams;
  WatchPump pump;
  FleetMetrics fleet_metrics;
  const std::unique_ptr<LaneDoor> sockets;
  std::unique_ptr<grpc::Service> fleet;
  std::unique_ptr<grpc::Service> job_admin;
  std::unique_ptr<grpc::Service> cluster_admin;
  ListeningServer listening;
  std::vector<std::unique_ptr<Server>> servers;

  std::shared_ptr<JobEvents> events;
  mutable absl::Mutex mu;
  JobEvents::Cursor cursor ABSL_GUARDED_BY(mu);
  std::vector<v1::WatchJobResponse> seen ABSL_GUARDED_BY(mu);
};

LocalCluster::LocalCluster(uint32_t servers, bool journals)
    : parts_(std::make_unique<Parts>(servers, journals)) {}

LocalCluster::~LocalCluster() = default;

const std::string& LocalCluster::address() const {
  return parts_->listening.address;
}

absl::Status LocalCluster::Run(const v1::JobSpec& job) {
  Parts& parts = *parts_;
  v1::CreateJobRequest request;
  request.set_parent(kParent);
  request.set_job_id("test");
  *request.mutable_job()->mutable_spec() = job;
  PACELINE_RETURN_IF_ERROR(parts.jobs->CreateJob(request, "the test").status());
  v1::WatchJobRequest watch;
  watch.set_name(kName);
  PACELINE_ASSIGN_OR_RETURN(auto events, parts.jobs->WatchJob(watch));
  {
    // Not over the call: the jobs' lock comes first.
    absl::MutexLock lock(&parts.mu);
    parts.events = std::move(events);
  }
  const uint64_t subscription = parts.events->Subscribe([&] { parts.Read(); });
  parts.Read();
  const bool over = Await(
      [](const v1::WatchJobResponse& event) {
        return event.has_job() && HasEnded(event.job().state());
      },
      absl::Minutes(10));
  parts.events->Unsubscribe(subscription);
  if (!over) return absl::DeadlineExceededError("the job does not end");
  const v1::Job ended = parts.Job();
  if (ended.state() == v1::Job::SUCCEEDED) return absl::OkStatus();
  return absl::AbortedError(ended.state_reason());
}

void LocalCluster::Cancel() {
  v1::CancelJobRequest request;
  request.set_name(kName);
  parts_->jobs->CancelJob(request, "the test").IgnoreError();
}

bool LocalCluster::Await(
    const std::function<bool(const v1::WatchJobResponse&)>& such,
    absl::Duration timeout) const {
  const auto came = [&]() ABSL_SHARED_LOCKS_REQUIRED(parts_->mu) {
    return std::any_of(parts_->seen.begin(), parts_->seen.end(), such);
  };
  absl::MutexLock lock(&parts_->mu);
  return parts_->mu.AwaitWithTimeout(absl::Condition(&came), timeout);
}

std::vector<v1::Decision> LocalCluster::decisions() const {
  absl::MutexLock lock(&parts_->mu);
  std::vector<v1::Decision> decisions;
  for (const v1::WatchJobResponse& event : parts_->seen) {
    if (event.has_decision()) decisions.push_back(event.decision());
  }
  return decisions;
}

nlohmann::json LocalCluster::result() const {
  if (parts_->Job().state() != v1::Job::SUCCEEDED) return {};
  v1::GetJobReportRequest request;
  request.set_name(kName);
  return nlohmann::json::parse(
      parts_->jobs->GetJobReport(request).value().json());
}

absl::StatusOr<std::vector<std::vector<float>>> LocalCluster::FinalWeights()
    const {
  v1::ListCheckpointsRequest request;
  request.set_parent(kName);
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCheckpointsResponse checkpoints,
                            parts_->jobs->ListCheckpoints(request));
  if (checkpoints.checkpoints().empty()) {
    return absl::NotFoundError("the job has left no checkpoint");
  }
  PACELINE_ASSIGN_OR_RETURN(
      const auto reader,
      CheckpointReader::Open(checkpoints.checkpoints(0).directory()));
  std::vector<std::vector<float>> tensors;
  for (const CheckpointTensor& tensor : reader->manifest().tensors) {
    tensors.emplace_back(TensorSize(tensor));
    PACELINE_RETURN_IF_ERROR(
        reader->ReadWeights(tensor.name, 0, absl::MakeSpan(tensors.back())));
  }
  return tensors;
}

v1::JobSpec SmallJob(const std::string& paradigm, uint32_t workers) {
  v1::JobSpec job;
  job.set_model("mlp");
  job.set_data("synthetic:tiny");
  job.set_paradigm(paradigm);
  job.set_optimizer("sgd");
  job.set_learning_rate(0.05);
  job.set_schedule("constant");
  job.set_batch_size(32);
  job.mutable_stop()->set_epochs(1);
  job.set_seed(7);
  job.set_wire(v1::FP32);
  job.set_round_strength("linear");
  job.mutable_workers()->set_min(workers);
  job.mutable_workers()->set_max(workers);
  job.mutable_evaluation()->set_disabled(true);
  return job;
}

absl::Duration TestLease() { return absl::Seconds(kSanitized ? 9 : 3); }

}  // namespace paceline
