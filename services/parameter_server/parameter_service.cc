#include "services/parameter_server/parameter_service.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

// Replies that may wait for one worker: the blocks of a few pulls.
constexpr size_t kMaxQueuedFrames = 1 << 16;

// The block's weights as a slice that refers to them (fp32), or a converted
// copy.
grpc::Slice WeightsSlice(const std::shared_ptr<const BlockState>& state,
                         DType dtype) {
  if (dtype == DType::kF32) {
    return BorrowSlice({reinterpret_cast<const char*>(state->weights()),
                        state->size() * sizeof(float)},
                       state);
  }
  auto converted =
      std::make_shared<std::vector<char>>(state->size() * ElementSize(dtype));
  ConvertFromF32(dtype, state->weights(), state->size(), converted->data());
  const absl::string_view bytes(converted->data(), converted->size());
  return BorrowSlice(bytes, std::move(converted));
}

PushBlock ToDomain(const v1::PushBlock& wire, uint64_t incarnation) {
  PushBlock push;
  push.incarnation = incarnation;
  push.iteration = wire.iteration();
  push.block = wire.block();
  push.samples = wire.samples();
  push.weight = wire.weight();
  push.rate = wire.immediate_rate();
  push.round_plan = wire.has_round();
  push.round = wire.round();
  push.compensation = wire.compensation();
  return push;
}

// A stream that was not admitted.
class RefusedStream
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

class ParameterStream
    : public ServerStream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ParameterStream(ParameterService* service, uint64_t id, StreamTicket ticket)
      : ServerStream(kMaxQueuedFrames),
        service_(service),
        id_(id),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status Received(grpc::ByteBuffer& message) override {
    PACELINE_ASSIGN_OR_RETURN(const ReceivedFrame frame, DecodeFrame(message));
    const v1::Frame& header = frame.header;
    if (header.has_hello()) {
      return Join(header.hello());
    }
    if (!joined_) {
      return absl::InvalidArgumentError("the first frame must be `hello`");
    }
    const std::shared_ptr<JobShard> job = job_.lock();
    if (job == nullptr) return absl::UnavailableError("the run is over");
    switch (header.kind_case()) {
      case v1::Frame::kPushBlock:
        return Push(*job, header.push_block(), frame.payload);
      case v1::Frame::kPull:
        return Pull(*job, header.pull());
      case v1::Frame::kSetBlock:
        return Set(*job, header.set_block(), frame.payload);
      default:
        return absl::InvalidArgumentError("that frame is not for a server");
    }
  }

  void Ended() override {
    if (const auto job = job_.lock()) job->CancelPulls(id_);
  }

 private:
  absl::Status Join(const v1::StreamHello& hello) {
    if (joined_) return absl::InvalidArgumentError("`hello` comes once");
    auto job = service_->shard_->Job(hello.run());
    // The server may have lost its coordinator, and with it the run, just now;
    // the worker hears of it from its own.
    if (absl::IsNotFound(job.status())) {
      return absl::UnavailableError(job.status().message());
    }
    PACELINE_RETURN_IF_ERROR(job.status());
    incarnation_ = hello.incarnation();
    job_ = *job;
    joined_ = true;
    return absl::OkStatus();
  }

  absl::Status Set(JobShard& job, const v1::SetBlock& set,
                   const Payload& payload) {
    PACELINE_RETURN_IF_ERROR(job.SetBlock(set.block(), payload, DType::kF32));
    blocks_set_.insert(set.block());
    if (blocks_set_.size() == job.config().blocks.size()) {
      v1::Frame done;
      done.mutable_set_done();
      Send(EncodeFrame(done));
    }
    return absl::OkStatus();
  }

  absl::Status Push(JobShard& job, const v1::PushBlock& push,
                    const Payload& payload) {
    PACELINE_ASSIGN_OR_RETURN(const DType dtype, FromWire(push.format()));
    PACELINE_ASSIGN_OR_RETURN(
        const PushOutcome outcome,
        job.Push(ToDomain(push, incarnation_), payload, dtype));
    service_->metrics_->pushed_blocks.Increment();
    service_->metrics_->push_bytes.Increment(
        static_cast<double>(payload.size()));
    if (!outcome.complete) return absl::OkStatus();
    service_->metrics_->refused_blocks.Increment(
        static_cast<double>(outcome.refused.size()));
    v1::Frame ack;
    ack.mutable_push_ack()->set_iteration(push.iteration());
    for (const uint32_t block : outcome.refused) {
      ack.mutable_push_ack()->add_refused(block);
    }
    Send(EncodeFrame(ack));
    return absl::OkStatus();
  }

  absl::Status Pull(JobShard& job, const v1::Pull& pull) {
    PACELINE_ASSIGN_OR_RETURN(const DType dtype, FromWire(pull.format()));
    const Puller puller{id_, incarnation_, service_->PullDeadline()};
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    const absl::Time asked = service_->clock_->Now();
    auto answer = [weak, dtype, asked, request = pull.request()](
                      absl::StatusOr<PulledBlocks> pulled) {
      if (const auto open = weak.lock()) {
        std::static_pointer_cast<ParameterStream>(open)->Answer(
            request, dtype, asked, std::move(pulled));
      }
    };
    if (pull.what_case() == v1::Pull::kSnapshot) {
      job.PullSnapshot(puller, pull.snapshot(), std::move(answer));
    } else if (pull.keep()) {
      job.PullAndKeep(puller, pull.closing(), std::move(answer));
    } else {
      job.Pull(puller, pull.closing(), std::move(answer));
    }
    return absl::OkStatus();
  }

  void Answer(uint64_t request, DType dtype, absl::Time asked,
              absl::StatusOr<PulledBlocks> pulled) {
    ServerMetrics& metrics = *service_->metrics_;
    const absl::Duration parked = service_->clock_->Now() - asked;
    metrics.pull_seconds.Observe(absl::ToDoubleSeconds(parked));
    v1::Frame end;
    end.mutable_pull_end()->set_request(request);
    end.mutable_pull_end()->set_parked_us(absl::ToInt64Microseconds(parked));
    if (pulled.ok()) {
      metrics.pulls.Increment();
      for (const PulledBlock& block : pulled->blocks) {
        SendBlock(request, dtype, block);
      }
    } else {
      metrics.pulls_failed.Increment();
      end.mutable_pull_end()->set_code(
          static_cast<int>(pulled.status().code()));
      end.mutable_pull_end()->set_message(
          std::string(pulled.status().message()));
    }
    Send(EncodeFrame(end));
  }

  void SendBlock(uint64_t request, DType dtype, const PulledBlock& block) {
    v1::Frame frame;
    frame.mutable_pulled_block()->set_request(request);
    frame.mutable_pulled_block()->set_block(block.id);
    frame.mutable_pulled_block()->set_format(ToWire(dtype));
    grpc::Slice weights = WeightsSlice(block.state, dtype);
    service_->metrics_->pull_bytes.Increment(
        static_cast<double>(weights.size()));
    Send(EncodeFrame(frame, std::move(weights)));
  }

  ParameterService* const service_;
  const uint64_t id_;
  const StreamTicket ticket_;
  uint64_t incarnation_ = 0;
  bool joined_ = false;
  // Weak, so that a worker that stays does not keep what the server has
  // dropped.
  std::weak_ptr<JobShard> job_;
  std::set<uint32_t> blocks_set_;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
ParameterService::Exchange(grpc::CallbackServerContext* context) {
  absl::StatusOr<StreamTicket> ticket = Admit(*context);
  if (!ticket.ok()) return new RefusedStream(ticket.status());
  const auto stream = std::make_shared<ParameterStream>(this, next_stream_++,
                                                        *std::move(ticket));
  stream->Begin(streams_);
  return stream.get();
}

absl::StatusOr<StreamTicket> ParameterService::Admit(
    const grpc::ServerContextBase& context) {
  if (guard_ == nullptr) return StreamTicket();
  PACELINE_ASSIGN_OR_RETURN(
      const Caller caller,
      guard_->Admit(context, "/paceline.v1.Parameters/Exchange"));
  return guard_->OpenStream(caller);
}

}  // namespace paceline
