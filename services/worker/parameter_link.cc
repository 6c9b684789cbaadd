#include "services/worker/parameter_link.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/link_connections.h"
#include "common/log/log.h"
#include "common/rpc/frame_batch.h"
#include "common/rpc/frame_lane.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr char kExchange[] = "/paceline.v1.Parameters/Exchange";

// Frames that may wait for one server: all blocks of the most that it hosts
// (ShardLimits), twice. Most of them refer to the model's own memory.
constexpr size_t kMaxQueuedFrames = size_t{1} << 21;

constexpr absl::Duration kTurn = absl::Milliseconds(100);

// Before a broken stream is dialled again, doubled until something comes by a
// new one.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

// Of a lease, for one attempt: behind a link that swallows everything gRPC
// would wait for 20 seconds.
constexpr double kAttemptPart = 0.25;
constexpr absl::Duration kShortestAttempt = absl::Seconds(1);

// gRPC's question whether a peer lives waits behind what is being sent, so that
// a link over which an exchange takes long looks dead. A stream that ended
// after so much of its liveness, with nothing heard, is followed by one that is
// believed for so much longer, up to so many leases.
constexpr double kSilentPart = 0.5;
constexpr double kMorePatience = 4;
constexpr double kMostPatience = 16;

uint32_t Bounded(uint32_t connections) {
  return std::clamp(connections, uint32_t{1}, kMostConnections);
}

// Not that of another group of the same incarnation.
uint64_t DrawGroup() {
  std::random_device device;
  return std::uniform_int_distribution<uint64_t>(1)(device);
}

}  // namespace

absl::Status TakeReceivedFrame(ExchangeState& state, size_t server,
                               const ReceivedFrame& frame, MemoryLane* lane,
                               uint32_t part) {
  const v1::Frame& header = frame.header;
  switch (header.kind_case()) {
    case v1::Frame::kPulledBlock: {
      PACELINE_ASSIGN_OR_RETURN(const DType dtype,
                                FromWire(header.pulled_block().format()));
      PACELINE_ASSIGN_OR_RETURN(const Payload payload, PayloadOf(frame, lane));
      PACELINE_RETURN_IF_ERROR(
          state.Pulled(server, header.pulled_block().request(),
                       header.pulled_block().block(), payload, dtype,
                       [&frame, lane] { return PayloadStood(frame, lane); }));
      GiveBackPayload(frame, lane);
      return absl::OkStatus();
    }
    case v1::Frame::kPullEnd:
      state.PullEnded(
          server, header.pull_end().request(),
          FromCode(header.pull_end().code(), header.pull_end().message()),
          absl::Microseconds(header.pull_end().parked_us()), part);
      return absl::OkStatus();
    case v1::Frame::kPushAck: {
      const v1::PushAck& ack = header.push_ack();
      std::optional<double> square;
      if (ack.has_gradient_square()) square = ack.gradient_square();
      state.PushTaken(server, ack.iteration(), ack.refused(), square);
      return absl::OkStatus();
    }
    case v1::Frame::kSetDone:
      state.SetTaken(server);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("that frame is not for a worker");
  }
}

bool MayBreakAndGoOn(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsInternal(status) || absl::IsUnknown(status) ||
         absl::IsNotFound(status);
}

ParameterLink::ParameterLink(Options options, size_t server,
                             ExchangeState* state)
    : options_(std::move(options)),
      server_(server),
      state_(state),
      pause_(kFirstPause),
      liveness_(options_.lease),
      address_(options_.address),
      connections_(Bounded(options_.connections)),
      hello_(options_.hello) {
  Dial();
  for (const auto& channel : channels_) {
    channel->GetState(/*try_to_connect=*/true);
  }
}

ParameterLink::~ParameterLink() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  if (thread_.joinable()) thread_.join();
  DropStreams();
}

void ParameterLink::Dial() {
  std::string address;
  uint32_t connections = 1;
  {
    absl::MutexLock lock(&mu_);
    address = address_;
    connections = connections_;
  }
  channels_.clear();
  for (uint32_t i = 0; i < connections; ++i) {
    // No two of them share a connection: Arguments() in channel.cc.
    channels_.push_back(
        options_.dial(address, ChannelProfile::kBulk, liveness_));
  }
}

void ParameterLink::AwaitConnection(absl::Time deadline) {
  connected_ = AwaitChannels(deadline, /*once=*/false);
}

void ParameterLink::Open() {
  {
    absl::MutexLock lock(&mu_);
    OpenStreams();
  }
  thread_ = std::thread([this] { Keep(); });
}

void ParameterLink::OpenStreams() {
  heard_ = false;
  opened_ = Clock::Real().Now();
  left_ = false;
  hello_.set_group(channels_.size() > 1 ? DrawGroup() : 0);
  for (uint32_t i = 0; i < channels_.size(); ++i) {
    streams_.push_back(OpenStream(i));
  }
}

std::unique_ptr<ParameterLink::Stream> ParameterLink::OpenStream(
    uint32_t index) {
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(
      channels_[index]);
  auto stream = std::make_unique<Stream>(
      kMaxQueuedFrames,
      Stream::Handlers{[this, index](const grpc::ByteBuffer& message) {
                         return Received(index, message);
                       },
                       [this](const absl::Status& status) { Ended(status); },
                       [this] { state_->Sent(server_); }},
      [&stub](grpc::ClientContext* context, auto* reactor) {
        stub.PrepareBidiStreamingCall(context, kExchange, grpc::StubOptions(),
                                      reactor);
      });
  v1::Frame hello;
  *hello.mutable_hello() = hello_;
  if (index > 0) hello.mutable_hello()->clear_host();
  stream->Send(EncodeFrame(hello));
  return stream;
}

absl::Status ParameterLink::Received(uint32_t index,
                                     const grpc::ByteBuffer& message) {
  heard_ = true;
  return TakeFrames(message, [this, index](const ReceivedFrame& frame) {
    return TakeFrame(index, frame);
  });
}

absl::Status ParameterLink::TakeFrame(uint32_t index,
                                      const ReceivedFrame& frame) {
  if (index > 0) {
    return TakeReceivedFrame(*state_, server_, frame, /*lane=*/nullptr, index);
  }
  if (frame.header.has_lane_offer()) return TakeUp(frame.header.lane_offer());
  if (frame.header.has_lane_open()) {
    if (lane_ == nullptr) {
      return absl::InvalidArgumentError("no shared memory was handed over");
    }
    return Opened(frame.header.lane_open());
  }
  const absl::Status taken =
      TakeReceivedFrame(*state_, server_, frame, lane_.get());
  if (filling_ != 0) TellFilled();
  if (taken.ok() && frame.header.has_pull_end()) TellRead(frame.header);
  return taken;
}

absl::Status ParameterLink::TakeUp(const v1::LaneOffer& offer) {
  if (lane_ != nullptr) {
    return absl::InvalidArgumentError("shared memory was offered before");
  }
  absl::StatusOr<std::unique_ptr<MemoryLane>> lane =
      HandOverLane({offer.address(), offer.token()}, options_.bytes,
                   options_.gradients.get(), offer.weights(), offer.socket());
  if (!lane.ok()) {
    // Between two containers of one machine, say.
    LogInfo("shares no memory with a server of this machine",
            {{"reason", Summary(lane.status())}});
    return absl::OkStatus();
  }
  lane_ = *std::move(lane);
  return absl::OkStatus();
}

absl::Status ParameterLink::Opened(const v1::LaneOpen& opened) {
  absl::MutexLock lock(&mu_);
  if (opened.references()) lane_->ReferTo(options_.gradients);
  lending_ = lane_;
  if (!opened.socket()) return absl::OkStatus();
  if (!lane_->has_socket()) {
    return absl::InvalidArgumentError("no socket was handed over");
  }
  v1::Frame last;
  last.mutable_by_socket();
  if (!streams_.empty()) {
    streams_.front()->Bypass(lane_->TakeSocket(), EncodeFrame(last));
  }
  return absl::OkStatus();
}

void ParameterLink::Ended(const absl::Status& status) {
  std::string address;
  {
    absl::MutexLock lock(&mu_);
    address = address_;
  }
  const absl::Status why = Annotate(
      status.ok() ? absl::UnavailableError("the stream has ended") : status,
      absl::StrCat("server ", address));
  if (!connected_ || !MayBreakAndGoOn(why)) return state_->Broken(why);
  absl::MutexLock lock(&mu_);
  if (std::exchange(left_, true)) return;  // The others of its group follow.
  state_->Suspended(server_, why);
  broke_ = why;
}

void ParameterLink::Rewire(const v1::Rewire& rewire) {
  absl::MutexLock lock(&mu_);
  if (rewire.epoch() <= hello_.epoch()) return;
  LogInfo("a shard has another server", {{"shard", hello_.shard()},
                                         {"server", rewire.address()},
                                         {"before", address_}});
  address_ = rewire.address();
  connections_ = Bounded(rewire.connections());
  hello_.set_epoch(rewire.epoch());
  rewired_ = true;
  fill_ = rewire.fill();
}

void ParameterLink::TellRead(const v1::Frame& end) {
  if (lane_ == nullptr || !lane_->has_theirs()) return;
  v1::Frame read;
  read.mutable_pull_taken()->set_request(end.pull_end().request());
  absl::MutexLock lock(&mu_);
  if (!streams_.empty()) streams_.front()->Send(EncodeFrame(read));
}

void ParameterLink::TellFilled() {
  if (state_->OpenAt(server_).set != 0) return;
  const uint64_t epoch = filling_.exchange(0);
  if (epoch != 0) options_.filled(epoch);
}

bool ParameterLink::rewired() {
  absl::MutexLock lock(&mu_);
  return rewired_;
}

uint32_t ParameterLink::StreamsFor(Exchange kind) const {
  if (kind == Exchange::kSet || filling_ != 0 || lending_ != nullptr) return 1;
  // Without streams it is what the next group will have, but for a break.
  return streams_.empty() ? connections_
                          : static_cast<uint32_t>(streams_.size());
}

ParameterLink::Begun& ParameterLink::Deal(Exchange kind) {
  Begun& begun = begun_[static_cast<size_t>(kind)];
  begun.streams = StreamsFor(kind);
  if (kind == Exchange::kPull) {
    state_->AskInParts(server_, begun.number, begun.streams);
  }
  return begun;
}

void ParameterLink::Begin(Exchange kind, uint64_t number) {
  absl::MutexLock lock(&mu_);
  begun_[static_cast<size_t>(kind)] = {.number = number};
  Deal(kind);
}

void ParameterLink::Send(Exchange kind, std::vector<OutgoingFrame> frames) {
  absl::MutexLock lock(&mu_);
  Begun& begun = begun_[static_cast<size_t>(kind)];
  // Without a stream, the next ones begin with them.
  if (!streams_.empty()) SendNow(begun, frames);
  std::ranges::move(frames, std::back_inserter(begun.frames));
}

void ParameterLink::Withdraw() {
  absl::MutexLock lock(&mu_);
  if (lending_ != nullptr) lending_->Withdraw();
}

void ParameterLink::SendNow(const Begun& begun,
                            absl::Span<const OutgoingFrame> frames) {
  std::vector<FrameBatch> batches(streams_.size());
  for (const OutgoingFrame& frame : frames) {
    if (!frame.header.has_pull() || begun.streams == 1) {
      const uint32_t index = StreamOf(begun, frame);
      AddTo(batches[index], index, frame.header, frame.payload);
      continue;
    }
    for (uint32_t part = 0; part < begun.streams; ++part) {
      v1::Frame asks = frame.header;
      asks.mutable_pull()->set_parts(begun.streams);
      asks.mutable_pull()->set_part(part);
      const auto index = static_cast<uint32_t>(part % streams_.size());
      AddTo(batches[index], index, std::move(asks), frame.payload);
    }
  }
  for (uint32_t index = 0; index < batches.size(); ++index) {
    if (!batches[index].empty()) SendBy(index, batches[index]);
  }
}

uint32_t ParameterLink::StreamOf(const Begun& begun,
                                 const OutgoingFrame& frame) {
  if (begun.streams == 1 || !frame.header.has_push_block()) return 0;
  if (dealt_to_ != begun.streams) {
    dealt_ = DealBlocks(options_.blocks, begun.streams);
    dealt_to_ = begun.streams;
  }
  // Of an exchange that is over there may be fewer streams by now.
  return dealt_[frame.place] % static_cast<uint32_t>(streams_.size());
}

void ParameterLink::AddTo(FrameBatch& batch, uint32_t index, v1::Frame header,
                          grpc::Slice payload) {
  // A question is to be answered, and carries nothing.
  const size_t carries = header.has_pull()
                             ? WriteQueue<grpc::ByteBuffer>::kUrgent
                             : payload.size();
  if (MemoryLane* const lane = index == 0 ? lending_.get() : nullptr) {
    if (header.has_pull()) {
      header.mutable_pull()->set_references(lane->has_theirs());
    }
    if (!ReferToPayload(header, payload, *lane)) {
      LendPayload(header, payload, lane);
    }
  }
  if (!batch.Takes(payload.size(), carries)) SendBy(index, batch);
  batch.Add(std::move(header), std::move(payload), carries);
}

void ParameterLink::SendBy(uint32_t index, FrameBatch& batch) {
  const size_t carries = batch.carries();
  streams_[index]->Send(batch.Take(), carries);
}

void ParameterLink::Repeat(Exchange kind, uint64_t open) {
  // Another number has begun in the exchange alone: its frames are to come.
  if (open == 0 || begun_[static_cast<size_t>(kind)].number != open) return;
  const Begun& begun = Deal(kind);
  SendNow(begun, begun.frames);
}

void ParameterLink::Keep() {
  absl::Status why;
  while (AwaitBreak(why)) {
    if (!rewired()) {
      LogWarning("a parameter stream broke", {{"reason", Summary(why)}});
    }
    const absl::Time broke = Clock::Real().Now();
    if (!Redial(why)) return;
    LogInfo("a parameter stream goes on",
            {{"after", absl::FormatDuration(Clock::Real().Now() - broke)}});
  }
}

bool ParameterLink::AwaitBreak(absl::Status& why) {
  absl::MutexLock lock(&mu_);
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || rewired_ || !broke_.ok();
  };
  mu_.Await(absl::Condition(&woken));
  why = std::exchange(broke_, absl::OkStatus());
  if (why.ok() && !ending_) {
    // It did not break, and is to be left all the same.
    why = absl::UnavailableError("the shard has another server");
    left_ = true;
    state_->Suspended(server_, why);
  }
  return !ending_;
}

bool ParameterLink::Redial(const absl::Status& why) {
  if (heard_) pause_ = kFirstPause;
  const bool silent =
      !heard_ && Clock::Real().Now() - opened_ > kSilentPart * liveness_;
  liveness_ = silent ? std::min(kMorePatience * liveness_,
                                kMostPatience * options_.lease)
                     : options_.lease;
  DropStreams();
  const absl::Duration patience =
      std::max(kShortestAttempt, kAttemptPart * options_.lease);
  do {
    channels_.clear();
    if (!Pause(std::exchange(pause_, std::min(2 * pause_, kLongestPause)))) {
      // As if it could not be mended: nobody waits for it when a worker goes.
      state_->Broken(why);
      return false;
    }
    {
      absl::MutexLock lock(&mu_);
      if (std::exchange(rewired_, false)) {
        pause_ = kFirstPause;
        liveness_ = options_.lease;
      }
    }
    Dial();
  } while (!AwaitChannels(Clock::Real().Now() + patience, /*once=*/true));
  options_.redialled();
  absl::MutexLock lock(&mu_);
  // The old streams are gone: nobody writes the weights now, but for blocks of
  // a pull ahead that were laid aside. Some may be of one update more than
  // others, as in every pull that is cut off.
  if (std::exchange(fill_, false)) {
    if (state_->OpenAt(server_).torn) {
      state_->Broken(absl::UnavailableError(
          "a block changed while this worker read it from a server that is "
          "gone: its copy of the weights cannot replace the server's"));
      return false;
    }
    begun_[static_cast<size_t>(Exchange::kSet)] = {
        .number = state_->BeginSetAt(server_), .frames = options_.weights()};
    filling_ = hello_.epoch();
  }
  const OpenAtServer open = state_->Resumed(server_);
  OpenStreams();
  Repeat(Exchange::kSet, open.set);
  Repeat(Exchange::kPush, open.push);
  Repeat(Exchange::kPull, open.pull);
  return true;
}

bool ParameterLink::Pause(absl::Duration time) {
  const Clock& clock = Clock::Real();
  const absl::Time until = clock.Now() + time;
  while (!Unwanted()) {
    const absl::Duration left = until - clock.Now();
    if (left <= absl::ZeroDuration()) return true;
    absl::MutexLock lock(&mu_);
    const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return ending_ || rewired_;
    };
    mu_.AwaitWithTimeout(absl::Condition(&woken), std::min(left, kTurn));
    if (rewired_) return !ending_;
  }
  return false;
}

void ParameterLink::DropStreams() {
  {
    Streams dropped;
    {
      absl::MutexLock lock(&mu_);
      dropped.swap(streams_);
    }
    // All at once; then each waits for its reactions, which may lock.
    for (const auto& stream : dropped) stream->Cancel();
  }
  Withdraw();
  // The next group has its own: an old server may still write into this one,
  // and one that is gone leaves its memory to the system once nobody has it.
  lane_ = nullptr;
  // Whatever it has ended with, it is dropped.
  absl::MutexLock lock(&mu_);
  lending_ = nullptr;
  broke_ = absl::OkStatus();
}

bool ParameterLink::AwaitChannels(absl::Time deadline, bool once) {
  return std::ranges::all_of(channels_, [&](const auto& channel) {
    return AwaitChannel(*channel, deadline, once);
  });
}

bool ParameterLink::AwaitChannel(grpc::Channel& channel, absl::Time deadline,
                                 bool once) {
  const Clock& clock = Clock::Real();
  while (true) {
    const grpc_connectivity_state now = channel.GetState(true);
    // One that is shut down is none: its calls say why.
    if (now == GRPC_CHANNEL_SHUTDOWN) return true;
    if (once && now == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
    // gRPC is told the time by the wall clock; what is waited for is not.
    const absl::Duration turn = std::min(kTurn, deadline - clock.Now());
    if (channel.WaitForConnected(absl::ToChronoTime(absl::Now() + turn))) {
      return true;
    }
    if (clock.Now() >= deadline || Unwanted() || rewired()) return false;
  }
}

bool ParameterLink::Unwanted() {
  {
    absl::MutexLock lock(&mu_);
    if (ending_) return true;
  }
  return options_.stopped() || state_->broken();
}

}  // namespace paceline
