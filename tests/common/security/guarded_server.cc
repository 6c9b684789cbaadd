#include "tests/common/security/guarded_server.h"

#include <chrono>
#include <utility>

#include "common/check.h"
#include "common/rpc/grpc_status.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr std::chrono::seconds kCallLimit(30);

class GuardedStream
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand> {
 public:
  GuardedStream(CallGuard& guard, grpc::CallbackServerContext& context) {
    const auto caller = guard.Admit(context, "/paceline.v1.Fleet/Worker");
    absl::Status status = caller.status();
    if (status.ok()) {
      auto ticket = guard.OpenStream(*caller);
      status = ticket.status();
      if (ticket.ok()) ticket_ = *std::move(ticket);
    }
    if (!status.ok()) {
      Finish(ToGrpc(status));
      return;
    }
    StartSendInitialMetadata();  // Tells the client that it is in.
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      StartRead(&message_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  v1::WorkerMessage message_;
  StreamTicket ticket_;
};

}  // namespace

ClientSecurity ClientWith(const TlsFiles& tls, const std::string& token) {
  auto security = MakeClientSecurity({.tls = tls, .token_file = token});
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

void SetLongDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
}

grpc::ServerUnaryReactor* GuardedServer::Cluster::GetCluster(
    grpc::CallbackServerContext* context, const v1::GetClusterRequest* request,
    v1::Cluster* reply) {
  auto* const reactor = context->DefaultReactor();
  Caller caller;
  const absl::Status admitted = guard_->Admit(
      *context, "/paceline.v1.ClusterService/GetCluster", "", caller);
  caller.Took(request->ByteSizeLong(), admitted.ok());
  if (admitted.ok()) reply->set_version(caller.identity);
  reactor->Finish(ToGrpc(admitted));
  return reactor;
}

grpc::ServerUnaryReactor* GuardedServer::Cluster::DrainWorker(
    grpc::CallbackServerContext* context, const v1::DrainWorkerRequest* request,
    v1::Worker*) {
  auto* const reactor = context->DefaultReactor();
  Caller caller;
  const absl::Status admitted = guard_->Admit(
      *context, "/paceline.v1.ClusterService/DrainWorker", "", caller);
  caller.Took(request->ByteSizeLong(), admitted.ok());
  reactor->Finish(ToGrpc(admitted));
  return reactor;
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>*
GuardedServer::Fleet::Worker(grpc::CallbackServerContext* context) {
  return new GuardedStream(*guard_, *context);
}

GuardedServer::GuardedServer(const ServerSecurity& security,
                             const CallLimits& limits,
                             const ListenOptions& options)
    : guard_(security, limits, &Clock::Real(), &accounts_),
      cluster_(&guard_),
      fleet_(&guard_) {
  ListenOptions counted = options;
  counted.accounts = &accounts_;
  auto listening = Listen("127.0.0.1:0", ChannelProfile::kControl, security,
                          {&cluster_, &fleet_}, counted);
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

GuardedServer::~GuardedServer() {
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
}

GuardedClient::GuardedClient(const std::string& address,
                             const ClientSecurity& security)
    : channel_(MakeChannel(address, ChannelProfile::kControl, absl::Seconds(20),
                           security)) {}

absl::StatusOr<std::string> GuardedClient::WhoAmI() {
  grpc::ClientContext context;
  SetLongDeadline(context);
  v1::Cluster reply;
  const absl::Status status =
      FromGrpc(v1::ClusterService::NewStub(channel_)->GetCluster(
          &context, v1::GetClusterRequest(), &reply));
  if (!status.ok()) return status;
  return reply.version();
}

absl::Status GuardedClient::Drain(const std::string& name) {
  grpc::ClientContext context;
  SetLongDeadline(context);
  v1::DrainWorkerRequest request;
  request.set_name(name);
  v1::Worker reply;
  return FromGrpc(v1::ClusterService::NewStub(channel_)->DrainWorker(
      &context, request, &reply));
}

absl::Status GuardedClient::Join() {
  grpc::ClientContext context;
  SetLongDeadline(context);
  const auto stream = v1::Fleet::NewStub(channel_)->Worker(&context);
  stream->WritesDone();
  return FromGrpc(stream->Finish());
}

}  // namespace paceline
