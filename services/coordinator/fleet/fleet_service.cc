#include "services/coordinator/fleet/fleet_service.h"

#include <optional>
#include <utility>

#include "common/rpc/server_stream.h"
#include "common/status.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"

namespace paceline {
namespace {

// Commands that may wait for one member. A job has a handful on their way to
// each; a snapshot or closing per push may add up while a server is busy.
constexpr size_t kMaxQueuedCommands = 100'000;

absl::Status HelloFirst() {
  return absl::InvalidArgumentError("the first message must be `hello`");
}

class WorkerStream : public ServerStream<v1::WorkerMessage, v1::WorkerCommand> {
 public:
  WorkerStream(Fleet* fleet, StreamTicket ticket)
      : ServerStream(kMaxQueuedCommands),
        fleet_(fleet),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(v1::WorkerMessage& message) override {
    if (!member_.has_value()) {
      if (!message.has_hello()) return HelloFirst();
      PACELINE_ASSIGN_OR_RETURN(
          member_, fleet_->OnWorkerConnected(
                       message.hello(), std::static_pointer_cast<WorkerStream>(
                                            shared_from_this())));
      return absl::OkStatus();
    }
    // What comes with every iteration is between the worker and its run.
    if (message.has_push_done() || message.has_gradient_ready() ||
        message.has_abandoned()) {
      if (session_ == nullptr || session_->over) {
        session_ = fleet_->SessionOf(*member_);
      }
      const auto run = session_ == nullptr ? nullptr : session_->run.lock();
      if (run != nullptr) {
        return run->OnWorkerMessage(session_->worker, message);
      }
    }
    return fleet_->OnWorkerMessage(*member_, message);
  }

  void OnDisconnected() override {
    if (member_.has_value()) fleet_->OnWorkerDisconnected(*member_);
  }

 private:
  Fleet* const fleet_;
  const StreamTicket ticket_;
  std::optional<uint64_t> member_;
  // The last one that was asked for.
  std::shared_ptr<const RunSession> session_;
};

class ParameterServerStream
    : public ServerStream<v1::ServerMessage, v1::ServerCommand> {
 public:
  ParameterServerStream(Fleet* fleet, StreamTicket ticket)
      : ServerStream(kMaxQueuedCommands),
        fleet_(fleet),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(v1::ServerMessage& message) override {
    if (member_.has_value()) return fleet_->OnServerMessage(*member_, message);
    if (!message.has_hello()) return HelloFirst();
    PACELINE_ASSIGN_OR_RETURN(
        member_,
        fleet_->OnServerConnected(
            message.hello(), std::static_pointer_cast<ParameterServerStream>(
                                 shared_from_this())));
    return absl::OkStatus();
  }

  void OnDisconnected() override {
    if (member_.has_value()) fleet_->OnServerDisconnected(*member_);
  }

 private:
  Fleet* const fleet_;
  const StreamTicket ticket_;
  std::optional<uint64_t> member_;
};

// Kept alive by the registry, and by the local reference until it is there.
template <class Stream, class In, class Out>
grpc::ServerBidiReactor<In, Out>* Open(
    const grpc::CallbackServerContext& context, absl::string_view method,
    Fleet* fleet, CallGuard* guard, StreamRegistry* streams) {
  using Refused = RefusedCall<grpc::ServerBidiReactor<In, Out>>;
  const absl::StatusOr<Caller> caller = guard->Admit(context, method);
  if (!caller.ok()) return new Refused(caller.status());
  absl::StatusOr<StreamTicket> ticket = guard->OpenStream(*caller);
  if (!ticket.ok()) return new Refused(ticket.status());
  const auto stream = std::make_shared<Stream>(fleet, *std::move(ticket));
  stream->Begin(streams, caller->account);
  return stream.get();
}

class FleetService final : public v1::Fleet::CallbackService {
 public:
  FleetService(Fleet* fleet, CallGuard* guard, StreamRegistry* streams)
      : fleet_(fleet), guard_(guard), streams_(streams) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
      grpc::CallbackServerContext* context) override {
    return Open<WorkerStream, v1::WorkerMessage, v1::WorkerCommand>(
        *context, "/paceline.v1.Fleet/Worker", fleet_, guard_, streams_);
  }
  grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>* Server(
      grpc::CallbackServerContext* context) override {
    return Open<ParameterServerStream, v1::ServerMessage, v1::ServerCommand>(
        *context, "/paceline.v1.Fleet/Server", fleet_, guard_, streams_);
  }

 private:
  Fleet* const fleet_;
  CallGuard* const guard_;
  StreamRegistry* const streams_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(Fleet* fleet, CallGuard* guard,
                                                StreamRegistry* streams) {
  return std::make_unique<FleetService>(fleet, guard, streams);
}

}  // namespace paceline
