#include "services/parameter_server/parameter_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/lane/lane_door.h"
#include "common/link_connections.h"
#include "common/rpc/frame_batch.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/frame_lane.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/parameter_server/from_wire.h"

namespace paceline {
namespace {

// Replies that may wait for one worker: acknowledgements, and the few blocks
// that are made ready ahead of the one being written.
constexpr size_t kMaxQueuedFrames = 1 << 16;
constexpr size_t kMaxReplyBytes = size_t{64} << 20;
constexpr size_t kAnswersAhead = 4;
// The same, where they carry nothing, if the blocks lie where others can read
// them. Those that do not must find room among the replies.
constexpr size_t kReferencesAhead = 32;

// The block's weights as a slice that refers to them (fp32), or a converted
// copy.
grpc::Slice WeightsSlice(const std::shared_ptr<const BlockState>& state,
                         DType dtype) {
  if (dtype == DType::kF32) {
    return BorrowSlice(BytesOf({state->weights(), state->size()}), state);
  }
  const size_t size = EncodedSize(dtype, state->size());
  // Nothing is written but what is converted.
  auto converted = std::make_shared_for_overwrite<char[]>(size);
  ConvertFromF32(dtype, state->weights(), state->size(), converted.get());
  const absl::string_view bytes(converted.get(), size);
  return BorrowSlice(bytes, std::move(converted));
}

// States that a worker reads where they lie.
using Referred = std::vector<std::shared_ptr<const BlockState>>;

// A pull that is being answered, maybe before all it wants is there.
struct Answer {
  uint64_t request = 0;
  DType dtype = DType::kF32;
  bool references = false;  // Whoever asks can read them where they lie.
  absl::Duration parked;    // Until the first block was there.
  std::vector<PulledBlock> blocks;
  absl::flat_hash_set<uint32_t> early;  // Those that came before the end.
  size_t next = 0;               // The index in `blocks` of what is sent next.
  size_t unsent = 0;             // Floats of the early ones from there on.
  std::optional<v1::Frame> end;  // After the last of them, which is there then.
};

}  // namespace

class ParameterStream
    : public ServerStream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ParameterStream(ParameterService* service, uint64_t id, StreamTicket ticket)
      : ServerStream(kMaxQueuedFrames, kMaxReplyBytes),
        service_(service),
        id_(id),
        ticket_(std::move(ticket)) {}

 protected:
  absl::Status OnMessage(grpc::ByteBuffer& message) override {
    return TakeFrames(message,
                      [this](ReceivedFrame& frame) { return Take(frame); });
  }

  void OnDisconnected() override {
    if (!invitation_.empty()) service_->lanes_->Withdraw(invitation_);
    if (const auto job = job_.lock()) job->CancelPulls(id_);
    if (joined_) service_->current_.Remove(key_, this);
    Referred read;  // Freed unlocked.
    absl::MutexLock lock(&mu_);
    Withdraw(read);
  }

  void OnSent() override {
    absl::MutexLock lock(&mu_);
    SendAhead();
  }

  // More than the backup has been sent is not taken.
  bool MayRead() override {
    const std::shared_ptr<JobShard> job = job_.lock();
    if (job == nullptr) return true;
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    return !job->log().AwaitRoom([weak] {
      if (const auto open = weak.lock()) {
        std::static_pointer_cast<ParameterStream>(open)->ReadOn();
      }
    });
  }

  // What is being answered still goes out.
  void OnPeerDone() override {
    absl::MutexLock lock(&mu_);
    peer_done_ = true;
    if (!answer_.has_value()) Close(absl::OkStatus());
  }

 private:
  absl::Status Take(ReceivedFrame& frame) {
    // What was on its way when another stream took this one's place.
    if (closing()) return absl::CancelledError("the stream has ended");
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
        PACELINE_RETURN_IF_ERROR(TakeOut(frame));
        return Push(*job, header.push_block(), frame);
      case v1::Frame::kPull:
        return Pull(*job, header.pull());
      case v1::Frame::kPullTaken:
        Taken(header.pull_taken());
        return absl::OkStatus();
      case v1::Frame::kBySocket:
        return ReadBypass();
      case v1::Frame::kSetBlock:
        PACELINE_RETURN_IF_ERROR(TakeOut(frame));
        return Set(*job, header.set_block(), frame.payload);
      default:
        return absl::InvalidArgumentError("that frame is not for a server");
    }
  }

  absl::Status Join(const v1::StreamHello& hello) {
    if (joined_) return absl::InvalidArgumentError("`hello` comes once");
    PACELINE_ASSIGN_OR_RETURN(
        const std::shared_ptr<JobShard> job,
        hello.has_shard() ? service_->shard_->Job({hello.run(), hello.shard()})
                          : service_->shard_->OnlyJobOf(hello.run()));
    if (!job->serving() || hello.epoch() > job->epoch()) {
      return absl::UnavailableError(
          "this server is not the shard's primary yet, or not any more");
    }
    if (hello.epoch() < job->config().least_epoch) {
      return absl::UnavailableError(
          "the shard was lost and is rebuilt: the coordinator says when it can "
          "be used again");
    }
    key_ = {hello.run(), hello.shard(), hello.incarnation()};
    job_ = job;
    joined_ = true;
    PACELINE_ASSIGN_OR_RETURN(
        const CurrentStreams::Streams replaced,
        service_->current_.Join(key_, hello.group(), shared_from_this()));
    for (const std::shared_ptr<OpenStream>& stream : replaced) {
      static_cast<ParameterStream&>(*stream).GiveWay(*job);
    }
    if (!service_->host_.empty() && hello.host() == service_->host_) {
      Invite(*job);
    }
    return absl::OkStatus();
  }

  // The worker is on this machine.
  void Invite(const JobShard& job) {
    std::shared_ptr<const SharedMemory> weights = job.shared_weights();
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    const bool shares = weights != nullptr;
    LaneInvitation invitation = service_->lanes_->Invite(
        [weak](std::unique_ptr<MemoryLane> lane) {
          if (const auto open = weak.lock()) {
            std::static_pointer_cast<ParameterStream>(open)->LaneOpened(
                std::move(lane));
          }
        },
        std::move(weights));
    invitation_ = invitation.token;
    v1::Frame offer;
    offer.mutable_lane_offer()->set_weights(shares);
    offer.mutable_lane_offer()->set_socket(true);
    offer.mutable_lane_offer()->set_address(std::move(invitation.address));
    offer.mutable_lane_offer()->set_token(std::move(invitation.token));
    Send(EncodeFrame(offer));
  }

  // From the door's thread.
  void LaneOpened(std::shared_ptr<MemoryLane> lane) {
    v1::Frame opened;
    opened.mutable_lane_open()->set_references(lane->has_theirs());
    opened.mutable_lane_open()->set_socket(lane->has_socket());
    MessageSocket::Parts socket = lane->TakeSocket();
    {
      absl::MutexLock lock(&mu_);
      lane_ = std::move(lane);
    }
    if (!socket.valid()) return Send(EncodeFrame(opened));
    Bypass(std::move(socket), EncodeFrame(opened));
  }

  // Copies a payload that lies in the lane: a gradient that could change after
  // it was found to be finite would be in the weights. The copy stays in the
  // caches until it is applied.
  absl::Status TakeOut(ReceivedFrame& frame) {
    if (!frame.header.has_lent()) return absl::OkStatus();
    std::shared_ptr<MemoryLane> lane;
    {
      absl::MutexLock lock(&mu_);
      lane = lane_;
    }
    PACELINE_ASSIGN_OR_RETURN(const Payload lent, PayloadOf(frame, lane.get()));
    if (lent.size() == 0) return absl::OkStatus();
    // Whatever its size should be: no block has more.
    if (lent.size() > kBlockElementsMax * sizeof(float)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a payload of ", lent.size(), " bytes in shared memory; a block has ",
          kBlockElementsMax * sizeof(float), " at most"));
    }
    const absl::string_view bytes = lent.slices().front();
    if (taken_out_ == nullptr) {
      taken_out_ = std::make_shared<std::vector<char>>();
    }
    taken_out_->assign(bytes.begin(), bytes.end());
    if (!PayloadStood(frame, lane.get())) {
      return absl::UnavailableError("the worker has left this stream");
    }
    GiveBackPayload(frame, lane.get());
    frame.payload =
        Payload(absl::string_view(taken_out_->data(), taken_out_->size()));
    service_->metrics_->lane_bytes.Increment(static_cast<double>(bytes.size()));
    return absl::OkStatus();
  }

  // To a new stream of the same incarnation and not of this one's group, from
  // that one's thread. If that was a late one, this is the worker's, who dials
  // again then.
  void GiveWay(JobShard& job) {
    Close(absl::UnavailableError(
        "another stream of this incarnation has taken the place of this one"));
    job.CancelPulls(id_);
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
                    ReceivedFrame& frame) {
    PACELINE_ASSIGN_OR_RETURN(const DType dtype, FromWire(push.format()));
    // The transport's own bytes, where they lie: moved, the vector's slices
    // stay in their place, and small ones have their bytes in them.
    const auto keep = [this, &frame]() -> std::shared_ptr<const void> {
      if (frame.header.has_lent()) return std::exchange(taken_out_, nullptr);
      return std::make_shared<std::vector<grpc::Slice>>(
          std::move(frame.slices));
    };
    PACELINE_ASSIGN_OR_RETURN(const PushOutcome outcome,
                              job.Push(PushFromWire(push, key_.incarnation),
                                       frame.payload, dtype, keep));
    service_->metrics_->pushed_blocks.Increment();
    service_->metrics_->push_bytes.Increment(
        static_cast<double>(frame.payload.size()));
    if (outcome.complete) Acknowledge(job, push.iteration(), outcome);
    if (push.has_round()) job.DrainAhead(push.block());
    return absl::OkStatus();
  }

  void Acknowledge(JobShard& job, int64_t iteration,
                   const PushOutcome& outcome) {
    // Once a stream: a push that is repeated as a whole is complete with each
    // of its blocks.
    if (acknowledged_ == iteration) return;
    acknowledged_ = iteration;
    service_->metrics_->refused_blocks.Increment(
        static_cast<double>(outcome.refused.size()));
    v1::Frame ack;
    ack.mutable_push_ack()->set_iteration(iteration);
    for (const uint32_t block : outcome.refused) {
      ack.mutable_push_ack()->add_refused(block);
    }
    if (outcome.gradient_square.has_value()) {
      ack.mutable_push_ack()->set_gradient_square(*outcome.gradient_square);
    }
    // Once the backup has it, if there is one.
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    job.log().WhenHeld([weak, ack = EncodeFrame(ack)] {
      if (const auto open = weak.lock()) {
        std::static_pointer_cast<ParameterStream>(open)->Send(ack);
      }
    });
  }

  // A pull, as the worker has asked for it.
  struct Asked {
    uint64_t number = 0;   // Of this stream's.
    uint64_t request = 0;  // The worker's name for it.
    DType dtype = DType::kF32;
    bool references = false;
    absl::Time at;
    uint32_t part = 0;
    // The blocks of that part; null: all.
    std::shared_ptr<const absl::flat_hash_set<uint32_t>> only = nullptr;

    bool Wants(uint32_t block) const {
      return only == nullptr || only->contains(block);
    }
  };

  absl::Status Pull(JobShard& job, const v1::Pull& pull) {
    PACELINE_ASSIGN_OR_RETURN(const DType dtype, FromWire(pull.format()));
    if (dtype == DType::kInt8) {
      return absl::InvalidArgumentError(
          "weights do not travel as INT8, whose errors nobody would make good: "
          "pull them as BF16");
    }
    if (pull.parts() > kMostConnections ||
        pull.part() >= std::max(pull.parts(), uint32_t{1})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "part ", pull.part(), " of ", pull.parts(), ": a pull has ",
          kMostConnections, " parts at most, and they are counted from 0"));
    }
    // One at a time, or a worker that asks and does not read would have the
    // server hold the model once per question.
    const uint64_t number = BeginPull();
    job.CancelPulls(id_);
    const Puller puller{id_, key_.incarnation, service_->PullDeadline(),
                        pull.request()};
    const std::weak_ptr<OpenStream> weak = shared_from_this();
    const Asked of = {number,
                      pull.request(),
                      dtype,
                      pull.references(),
                      service_->clock_->Now(),
                      pull.part(),
                      BlocksOf(job, pull)};
    auto answer = [weak, of, without_frozen = pull.without_frozen(),
                   host = job_](absl::StatusOr<PulledBlocks> pulled) {
      const auto open = weak.lock();
      if (open == nullptr) return;
      if (const auto hosting = host.lock();
          hosting != nullptr && without_frozen && pulled.ok()) {
        hosting->LeaveOutFrozen(pulled->blocks);
      }
      std::static_pointer_cast<ParameterStream>(open)->Pulled(
          of, std::move(pulled));
    };
    if (pull.what_case() == v1::Pull::kSnapshot) {
      job.PullSnapshot(puller, pull.snapshot(), std::move(answer));
    } else if (pull.keep()) {
      job.PullAndKeep(puller, pull.closing(), std::move(answer));
    } else {
      job.Pull(puller, pull.closing(), std::move(answer),
               [weak, of](const PulledBlock& block) {
                 if (const auto open = weak.lock()) {
                   std::static_pointer_cast<ParameterStream>(open)->PulledEarly(
                       of, block);
                 }
               });
    }
    return absl::OkStatus();
  }

  // Those of the part that is asked for; null: all. A stream asks for the same
  // part again and again.
  std::shared_ptr<const absl::flat_hash_set<uint32_t>> BlocksOf(
      const JobShard& job, const v1::Pull& pull) {
    if (pull.parts() <= 1) return nullptr;
    const std::pair<uint32_t, uint32_t> part(pull.parts(), pull.part());
    if (part_blocks_ == nullptr || part_ != part) {
      part_blocks_ = std::make_shared<const absl::flat_hash_set<uint32_t>>(
          job.BlocksOfPart(pull.parts(), pull.part()));
    }
    part_ = part;
    return part_blocks_;
  }

  // A new one takes the place of the one before; its number.
  uint64_t BeginPull() {
    std::optional<Answer> answered;  // Freed unlocked, as what it has.
    Referred read;
    absl::MutexLock lock(&mu_);
    answer_.swap(answered);
    Withdraw(read);
    return ++pull_;
  }

  // What the last pull referred to has been read.
  void Taken(const v1::PullTaken& taken) {
    Referred read;  // Freed unlocked.
    absl::MutexLock lock(&mu_);
    if (taken.request() == referred_in_) referred_.swap(read);
  }

  // It may be written again once `read`, which gets it, is gone, read or not.
  void Withdraw(Referred& read) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (referred_.empty()) return;
    lane_->Withdraw();
    referred_.swap(read);
  }

  // The answer to that pull; null if it has its end already, or another pull
  // has taken its place.
  Answer* AnswerTo(const Asked& asked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (asked.number != pull_ || asked.number == ended_) return nullptr;
    if (!answer_.has_value()) {
      answer_.emplace();
      answer_->request = asked.request;
      answer_->dtype = asked.dtype;
      answer_->references =
          asked.references && asked.dtype == DType::kF32 && lane_ != nullptr;
      answer_->parked = service_->clock_->Now() - asked.at;
    }
    return &*answer_;
  }

  // While a closing goes on, or before: what is done already is on its way
  // meanwhile.
  void PulledEarly(const Asked& asked, const PulledBlock& block) {
    if (!asked.Wants(block.id)) return;
    absl::MutexLock lock(&mu_);
    Answer* const answer = AnswerTo(asked);
    if (answer == nullptr) return;
    answer->early.insert(block.id);
    answer->blocks.push_back(block);
    answer->unsent += block.state->size();
    SendAhead();
  }

  void Pulled(const Asked& asked, absl::StatusOr<PulledBlocks> pulled) {
    ServerMetrics& metrics = *service_->metrics_;
    // The parts are one pull.
    const bool counts = asked.part == 0;
    if (counts)
      (pulled.ok() ? metrics.pulls : metrics.pulls_failed).Increment();
    absl::MutexLock lock(&mu_);
    Answer* const answer = AnswerTo(asked);
    if (answer == nullptr) return;
    ended_ = asked.number;
    if (counts) {
      metrics.pull_seconds.Observe(absl::ToDoubleSeconds(answer->parked));
    }
    v1::PullEnd& end = *answer->end.emplace().mutable_pull_end();
    end.set_request(asked.request);
    end.set_parked_us(absl::ToInt64Microseconds(answer->parked));
    end.set_code(static_cast<int>(pulled.status().code()));
    end.set_message(std::string(pulled.status().message()));
    if (pulled.ok()) {
      for (PulledBlock& block : pulled->blocks) {
        if (!asked.Wants(block.id)) continue;
        if (answer->early.contains(block.id)) continue;
        answer->blocks.push_back(std::move(block));
      }
    }
    SendAhead();
  }

  // Makes a few messages ready and no more: a converted block is a copy, and
  // who converts must not be a thread that others wait for. The lock is held
  // while they are queued, so that the end stays behind the blocks.
  void SendAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // What goes by a socket does not wait, but who makes copies must not do
    // that for long.
    size_t copies = 0;
    while (answer_.has_value() &&
           queued() <
               (answer_->references ? kReferencesAhead : kAnswersAhead)) {
      if (closing()) {
        answer_.reset();
        return;
      }
      if (bypassed() && !answer_->references && copies++ == kAnswersAhead) {
        return SendMoreSoon();
      }
      // Small blocks that are early wait for each other.
      if (!answer_->end.has_value() &&
          answer_->unsent * sizeof(float) < FrameBatch::kMostCarried) {
        return;
      }
      SendSome();
    }
  }

  // As much as goes into one message.
  void SendSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Answer& answer = *answer_;
    FrameBatch batch;
    while (answer.next < answer.blocks.size()) {
      PulledBlock& block = answer.blocks[answer.next];
      const size_t bytes = EncodedSize(answer.dtype, block.state->size());
      if (!batch.Takes(answer.references ? 0 : bytes, bytes)) break;
      ++answer.next;
      answer.unsent -= std::min(answer.unsent, block.state->size());
      AddBlock(answer, block, batch);
    }
    if (answer.next < answer.blocks.size() || !answer.end.has_value() ||
        !batch.Takes(0, 0)) {
      return SendBatch(batch);
    }
    batch.Add(*std::move(answer.end), grpc::Slice(),
              WriteQueue<grpc::ByteBuffer>::kUrgent);
    answer_.reset();
    SendBatch(batch);
    if (peer_done_) Close(absl::OkStatus());
  }

  void SendBatch(FrameBatch& batch) {
    const size_t carries = batch.carries();
    Send(batch.Take(), carries);
  }

  void AddBlock(const Answer& answer, PulledBlock& block, FrameBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    v1::Frame frame;
    frame.mutable_pulled_block()->set_request(answer.request);
    frame.mutable_pulled_block()->set_block(block.id);
    frame.mutable_pulled_block()->set_format(ToWire(answer.dtype));
    grpc::Slice weights = WeightsSlice(block.state, answer.dtype);
    const size_t bytes = weights.size();
    service_->metrics_->pull_bytes.Increment(static_cast<double>(bytes));
    if (answer.references && ReferToPayload(frame, weights, *lane_)) {
      referred_in_ = answer.request;
      referred_.push_back(std::move(block.state));
    } else {
      block.state.reset();
      LendPayload(frame, weights, lane_.get());
    }
    // Its place among what is shared was not as expected.
    if (!batch.Takes(weights.size(), bytes)) SendBatch(batch);
    batch.Add(std::move(frame), std::move(weights), bytes);
  }

  ParameterService* const service_;
  const uint64_t id_;
  const StreamTicket ticket_;
  CurrentStreams::Key key_;  // Once joined.
  bool joined_ = false;
  int64_t acknowledged_ = 0;  // The iteration.
  // Weak, so that a worker that stays does not keep what the server has
  // dropped.
  std::weak_ptr<JobShard> job_;
  std::set<uint32_t> blocks_set_;
  // What was pulled last in parts: how many, and which.
  std::pair<uint32_t, uint32_t> part_;
  std::shared_ptr<const absl::flat_hash_set<uint32_t>> part_blocks_;
  std::string invitation_;  // The lane's token, once there is one.
  // What was last copied out of the lane; nobody's once it is kept.
  std::shared_ptr<std::vector<char>> taken_out_;

  absl::Mutex mu_;
  std::shared_ptr<MemoryLane> lane_ ABSL_GUARDED_BY(mu_);
  uint64_t pull_ ABSL_GUARDED_BY(mu_) = 0;   // The number of the last one.
  uint64_t ended_ ABSL_GUARDED_BY(mu_) = 0;  // The last that has its end.
  std::optional<Answer> answer_ ABSL_GUARDED_BY(mu_);
  // What the worker reads where it lies, and in answer to which request.
  Referred referred_ ABSL_GUARDED_BY(mu_);
  uint64_t referred_in_ ABSL_GUARDED_BY(mu_) = 0;
  bool peer_done_ ABSL_GUARDED_BY(mu_) = false;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
ParameterService::Exchange(grpc::CallbackServerContext* context) {
  using Refused =
      RefusedCall<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>;
  const absl::StatusOr<Caller> caller = Admit(*context);
  if (!caller.ok()) return new Refused(caller.status());
  absl::StatusOr<StreamTicket> ticket = OpenStream(*caller);
  if (!ticket.ok()) return new Refused(ticket.status());
  const auto stream = std::make_shared<ParameterStream>(this, next_stream_++,
                                                        *std::move(ticket));
  stream->Begin(streams_, caller->account);
  return stream.get();
}

absl::StatusOr<Caller> ParameterService::Admit(
    const grpc::ServerContextBase& context) {
  if (guard_ == nullptr) return Caller();
  return guard_->Admit(context, "/paceline.v1.Parameters/Exchange");
}

absl::StatusOr<StreamTicket> ParameterService::OpenStream(
    const Caller& caller) {
  if (guard_ == nullptr) return StreamTicket();
  return guard_->OpenStream(caller);
}

}  // namespace paceline
