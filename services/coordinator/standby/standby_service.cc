#include "services/coordinator/standby/standby_service.h"

#include <memory>
#include <utility>

#include "common/rpc/server_stream.h"
#include "common/status.h"

namespace paceline {
namespace {

// More than the host ever lets wait.
constexpr size_t kMostQueued = 1'000;

class FollowStream final
    : public ServerStream<v1::StandbyMessage, v1::LeaderMessage> {
 public:
  FollowStream(StandbyHost* host, StreamTicket ticket)
      : ServerStream(kMostQueued), host_(host), ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(v1::StandbyMessage& message) override {
    if (peer_ == nullptr) return Join(message);
    if (message.has_leads()) {
      host_->OnLeads(message.leads());
      return absl::OkStatus();
    }
    return host_->OnHeld(peer_.get(), message.held());
  }

  void OnDisconnected() override {
    if (peer_ != nullptr) host_->OnOver(peer_.get());
  }

  void OnSent() override { host_->OnSent(); }

 private:
  // What the host has of the stream, which may be over.
  class Peer final : public StandbyPeer {
   public:
    explicit Peer(std::weak_ptr<FollowStream> stream)
        : stream_(std::move(stream)) {}

    void Send(v1::LeaderMessage message) override {
      if (const auto open = stream_.lock()) open->Send(std::move(message));
    }
    void Close(const absl::Status& status) override {
      if (const auto open = stream_.lock()) open->Close(status);
    }
    size_t waiting() const override {
      const auto open = stream_.lock();
      return open == nullptr ? kMostQueued : open->queued();
    }

   private:
    const std::weak_ptr<FollowStream> stream_;
  };

  absl::Status Join(const v1::StandbyMessage& message) {
    if (!message.has_hello()) {
      return absl::InvalidArgumentError("the first message must be `hello`");
    }
    auto peer = std::make_shared<Peer>(
        std::static_pointer_cast<FollowStream>(shared_from_this()));
    PACELINE_RETURN_IF_ERROR(host_->OnHello(message.hello(), peer));
    peer_ = std::move(peer);
    return absl::OkStatus();
  }

  StandbyHost* const host_;
  const StreamTicket ticket_;
  std::shared_ptr<Peer> peer_;  // Only reading reactions use it.
};

}  // namespace

grpc::ServerBidiReactor<v1::StandbyMessage, v1::LeaderMessage>*
StandbyService::Follow(grpc::CallbackServerContext* context) {
  using Refused = RefusedCall<
      grpc::ServerBidiReactor<v1::StandbyMessage, v1::LeaderMessage>>;
  const absl::StatusOr<Caller> caller =
      guard_->Admit(*context, "/paceline.v1.Standby/Follow");
  if (!caller.ok()) return new Refused(caller.status());
  absl::StatusOr<StreamTicket> ticket = guard_->OpenStream(*caller);
  if (!ticket.ok()) return new Refused(ticket.status());
  const auto stream = std::make_shared<FollowStream>(host_, *std::move(ticket));
  stream->Begin(streams_, caller->account);
  return stream.get();
}

}  // namespace paceline
