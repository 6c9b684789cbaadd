#include "services/coordinator/fleet_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/rpc/server_stream.h"
#include "common/status.h"

namespace paceline {
namespace {

// Commands that may wait for one member. A job has a handful on their way to
// each; a snapshot or closing per push may add up while a server is busy.
constexpr size_t kMaxQueuedCommands = 100'000;

// A Peer that reaches `stream` as long as it is there.
template <class Command, class Stream>
Peer<Command> PeerOf(const std::shared_ptr<Stream>& stream) {
  const std::weak_ptr<Stream> weak = stream;
  return {[weak](Command command) {
            if (const auto open = weak.lock()) open->Send(std::move(command));
          },
          [weak](const absl::Status& status) {
            if (const auto open = weak.lock()) open->Close(status);
          }};
}

absl::Status HelloFirst() {
  return absl::InvalidArgumentError("the first message must be `hello`");
}

class WorkerStream : public ServerStream<v1::WorkerMessage, v1::WorkerCommand> {
 public:
  explicit WorkerStream(JobRun* job)
      : ServerStream(kMaxQueuedCommands), job_(job) {}

 protected:
  absl::Status Received(v1::WorkerMessage& message) override {
    if (worker_.has_value()) return job_->WorkerSaid(*worker_, message);
    if (!message.has_hello()) return HelloFirst();
    const auto self =
        std::static_pointer_cast<WorkerStream>(shared_from_this());
    PACELINE_ASSIGN_OR_RETURN(
        worker_,
        job_->WorkerCame(message.hello(), PeerOf<v1::WorkerCommand>(self)));
    return absl::OkStatus();
  }

  void Ended() override {
    if (worker_.has_value()) {
      job_->WorkerGone(*worker_, LossReason::kStreamBroken);
    }
  }

 private:
  JobRun* const job_;
  std::optional<WorkerId> worker_;
};

class ParameterServerStream
    : public ServerStream<v1::ServerMessage, v1::ServerCommand> {
 public:
  explicit ParameterServerStream(JobRun* job)
      : ServerStream(kMaxQueuedCommands), job_(job) {}

 protected:
  absl::Status Received(v1::ServerMessage& message) override {
    if (server_.has_value()) return job_->ServerSaid(*server_, message);
    if (!message.has_hello()) return HelloFirst();
    const auto self =
        std::static_pointer_cast<ParameterServerStream>(shared_from_this());
    PACELINE_ASSIGN_OR_RETURN(
        server_,
        job_->ServerCame(message.hello(), PeerOf<v1::ServerCommand>(self)));
    return absl::OkStatus();
  }

  void Ended() override {
    if (server_.has_value()) job_->ServerGone(*server_);
  }

 private:
  JobRun* const job_;
  std::optional<int> server_;
};

// Kept alive by the registry, and by the local reference until it is there.
template <class Stream>
Stream* Open(JobRun* job, StreamRegistry* streams) {
  const auto stream = std::make_shared<Stream>(job);
  stream->Begin(streams);
  return stream.get();
}

}  // namespace

grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>*
FleetService::Worker(grpc::CallbackServerContext*) {
  return Open<WorkerStream>(job_, streams_);
}

grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>*
FleetService::Server(grpc::CallbackServerContext*) {
  return Open<ParameterServerStream>(job_, streams_);
}

}  // namespace paceline
