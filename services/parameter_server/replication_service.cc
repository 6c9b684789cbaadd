#include "services/parameter_server/replication_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/server_stream.h"
#include "common/status.h"
#include "services/parameter_server/replica_wire.h"

namespace paceline {
namespace {

// Acknowledgements that wait for the primary; one that does not read them is
// none.
constexpr size_t kMaxUnreadAcknowledgements = 1 << 16;

class FollowStream : public ServerStream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  FollowStream(Shard* shard, StreamTicket ticket)
      : ServerStream(kMaxUnreadAcknowledgements),
        shard_(shard),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(grpc::ByteBuffer& message) override {
    PACELINE_ASSIGN_OR_RETURN(const auto received,
                              DecodeFrame<v1::ReplicaEntry>(message));
    if (job_ == nullptr) return Join(received.header);
    PACELINE_ASSIGN_OR_RETURN(const std::optional<ReplicaEntry> entry,
                              reader_->Read(received));
    if (!entry.has_value()) return absl::OkStatus();
    PACELINE_RETURN_IF_ERROR(job_->Replay(*entry));
    ++entries_;
    if (received.header.acknowledge()) Acknowledge();
    return absl::OkStatus();
  }

  void OnDisconnected() override {}

 private:
  absl::Status Join(const v1::ReplicaEntry& entry) {
    if (!entry.has_hello()) {
      return absl::InvalidArgumentError("the first entry must be `hello`");
    }
    const v1::ReplicaHello& hello = entry.hello();
    PACELINE_ASSIGN_OR_RETURN(std::shared_ptr<JobShard> job,
                              shard_->Job({hello.run(), hello.shard()}));
    // Whoever asks has been replaced, and stops.
    if (job->serving()) {
      return absl::AbortedError(
          absl::StrCat("epoch ", hello.epoch(), " of the shard is over"));
    }
    // One of before may go on under a command that it has not heard yet.
    if (hello.epoch() != job->epoch()) {
      return absl::NotFoundError("the shard has no backup of that epoch here");
    }
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    PACELINE_RETURN_IF_ERROR(
        job->BeginReplay([weak](const absl::Status& status) {
          if (const auto open = weak.lock()) open->Close(status);
        }));
    job_ = std::move(job);
    reader_.emplace(job_);
    return absl::OkStatus();
  }

  void Acknowledge() {
    v1::ReplicaAck ack;
    ack.set_entries(entries_);
    const grpc::Slice slice(ack.SerializeAsString());
    Send(grpc::ByteBuffer(&slice, 1));
  }

  Shard* const shard_;
  const StreamTicket ticket_;
  // Only reading reactions use these. Null before `hello`.
  std::shared_ptr<JobShard> job_;
  std::optional<ReplicaReader> reader_;
  uint64_t entries_ = 0;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
ReplicationService::Follow(grpc::CallbackServerContext* context) {
  using Refused =
      RefusedCall<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>;
  Caller caller;
  StreamTicket ticket;
  if (guard_ != nullptr) {
    absl::StatusOr<Caller> admitted =
        guard_->Admit(*context, "/paceline.v1.Replication/Follow");
    if (!admitted.ok()) return new Refused(admitted.status());
    caller = *std::move(admitted);
    absl::StatusOr<StreamTicket> opened = guard_->OpenStream(caller);
    if (!opened.ok()) return new Refused(opened.status());
    ticket = *std::move(opened);
  }
  const auto stream = std::make_shared<FollowStream>(shard_, std::move(ticket));
  stream->Begin(streams_, caller.account);
  return stream.get();
}

}  // namespace paceline
