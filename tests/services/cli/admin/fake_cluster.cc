#include "tests/services/cli/admin/fake_cluster.h"

#include <chrono>
#include <utility>

#include "common/check.h"

namespace paceline {

grpc::Status FakeJobService::WatchJob(
    grpc::ServerContext* context, const v1::WatchJobRequest* request,
    grpc::ServerWriter<v1::WatchJobResponse>* writer) {
  return onWatchJob(*request, [&](const v1::WatchJobResponse& response) {
    return !context->IsCancelled() && writer->Write(response);
  });
}

FakeCluster::FakeCluster(const ServerSecurity& security) : security_(security) {
  Serve("127.0.0.1:0");
}

FakeCluster::~FakeCluster() { Stop(); }

void FakeCluster::Serve(const std::string& address) {
  absl::StatusOr<ListeningServer> listening =
      Listen(address, ChannelProfile::kControl, security_, {&jobs, &cluster});
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

void FakeCluster::Stop() {
  if (listening_.server == nullptr) return;
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
  listening_.server.reset();
}

void FakeCluster::Start() {
  const std::string address = listening_.address;
  Serve(address);
}

}  // namespace paceline
