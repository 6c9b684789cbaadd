#include "tests/common/rpc/scripted_cluster.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <utility>

#include "absl/synchronization/notification.h"
#include "common/check.h"
#include "common/rpc/grpc_status.h"

namespace paceline {
namespace {

constexpr std::chrono::seconds kLongest(30);

}  // namespace

ScriptedCluster::ScriptedCluster(const ListenOptions& options, Answer answer)
    : answer_(std::move(answer)) {
  auto listening = Listen("127.0.0.1:0", ChannelProfile::kControl,
                          ServerSecurity(), {this}, options);
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

ScriptedCluster::~ScriptedCluster() {
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
}

grpc::ServerUnaryReactor* ScriptedCluster::GetWorker(
    grpc::CallbackServerContext* context, const v1::GetWorkerRequest* request,
    v1::Worker*) {
  auto* const reactor = context->DefaultReactor();
  reactor->Finish(
      ToGrpc(answer_ ? answer_(request->name()) : absl::OkStatus()));
  return reactor;
}

std::shared_ptr<grpc::Channel> ScriptedCluster::Connect() const {
  return MakeChannel(listening_.address, ChannelProfile::kControl,
                     absl::Seconds(20));
}

absl::Status GetWorker(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& name, size_t metadata_bytes) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongest);
  if (metadata_bytes > 0) {
    context.AddMetadata("padding", std::string(metadata_bytes, 'x'));
  }
  v1::GetWorkerRequest request;
  request.set_name(name);
  v1::Worker reply;
  return FromGrpc(v1::ClusterService::NewStub(channel)->GetWorker(
      &context, request, &reply));
}

absl::StatusOr<std::string> RawCall(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
    const std::string& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongest);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Notification done;
  grpc::GenericStub stub(channel);
  stub.UnaryCall(&context, method, grpc::StubOptions(), &sent, &reply,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  if (!status.ok()) return FromGrpc(status);
  grpc::Slice whole;
  CHECK(reply.DumpToSingleSlice(&whole).ok());
  return std::string(reinterpret_cast<const char*>(whole.begin()),
                     whole.size());
}

}  // namespace paceline
