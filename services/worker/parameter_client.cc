#include "services/worker/parameter_client.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr char kExchange[] = "/paceline.v1.Parameters/Exchange";

// Frames that may wait for one server: all blocks of the most that it hosts
// (ShardLimits), twice. Most of them refer to the model's own memory.
constexpr size_t kMaxQueuedFrames = size_t{1} << 21;

// Of a lease, for all servers together.
constexpr double kDialPart = 0.75;
constexpr absl::Duration kDialTurn = absl::Milliseconds(100);

}  // namespace

absl::Status TakeReceivedFrame(ExchangeState& state, size_t server,
                               const grpc::ByteBuffer& message) {
  PACELINE_ASSIGN_OR_RETURN(const ReceivedFrame frame, DecodeFrame(message));
  const v1::Frame& header = frame.header;
  switch (header.kind_case()) {
    case v1::Frame::kPulledBlock: {
      PACELINE_ASSIGN_OR_RETURN(const DType dtype,
                                FromWire(header.pulled_block().format()));
      return state.Pulled(server, header.pulled_block().request(),
                          header.pulled_block().block(), frame.payload, dtype);
    }
    case v1::Frame::kPullEnd:
      state.PullEnded(
          header.pull_end().request(),
          FromCode(header.pull_end().code(), header.pull_end().message()),
          absl::Microseconds(header.pull_end().parked_us()));
      return absl::OkStatus();
    case v1::Frame::kPushAck:
      state.PushTaken(header.push_ack().iteration(),
                      header.push_ack().refused_size());
      return absl::OkStatus();
    case v1::Frame::kSetDone:
      state.SetTaken();
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("that frame is not for a worker");
  }
}

absl::StatusOr<std::unique_ptr<ParameterClient>> ParameterClient::Connect(
    const v1::BeginJob& begin, TensorArrays arrays, const Options& options) {
  const auto& shards = begin.shards();
  auto client =
      absl::WrapUnique(new ParameterClient(std::move(arrays), options));
  for (int i = 0; i < shards.size(); ++i) {
    for (const v1::Block& block : shards[i].blocks()) {
      PACELINE_RETURN_IF_ERROR(client->AddBlock(i, block));
    }
  }
  PACELINE_RETURN_IF_ERROR(client->CheckCovered());
  client->streams_.resize(shards.size());
  client->channels_.resize(shards.size());
  for (int i = 0; i < shards.size(); ++i) {
    if (!client->state_.Hosts(i)) continue;
    client->channels_[i] =
        options.dial(shards[i].address(), ChannelProfile::kBulk, options.lease);
  }
  client->AwaitServers();
  for (int i = 0; i < shards.size(); ++i) {
    if (client->state_.Hosts(i)) client->OpenStream(i, shards[i].address());
  }
  return client;
}

void ParameterClient::AwaitServers() {
  for (const auto& channel : channels_) {  // All at once.
    if (channel != nullptr) channel->GetState(/*try_to_connect=*/true);
  }
  const Clock& clock = Clock::Real();
  const absl::Time deadline = clock.Now() + kDialPart * options_.lease;
  for (const auto& channel : channels_) {
    // One that is shut down is none: its calls say why.
    while (channel != nullptr &&
           channel->GetState(true) != GRPC_CHANNEL_SHUTDOWN) {
      // gRPC is told the time by the wall clock; what is waited for is not.
      const absl::Duration turn = std::min(kDialTurn, deadline - clock.Now());
      if (channel->WaitForConnected(absl::ToChronoTime(absl::Now() + turn))) {
        break;
      }
      if (clock.Now() >= deadline || options_.stopped()) return;
    }
  }
}

ParameterClient::ParameterClient(TensorArrays arrays, const Options& options)
    : arrays_(std::move(arrays)),
      options_(options),
      pieces_(arrays_.parameters.size()) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    CHECK(!IsPushed(i) ||
          arrays_.gradients[i].size() ==
              arrays_.parameters[i].size() * ElementSize(options_.wire));
  }
}

absl::Status ParameterClient::AddBlock(size_t server, const v1::Block& block) {
  const size_t tensor = block.tensor();
  if (tensor >= pieces_.size() || block.offset() < 0 || block.size() < 1 ||
      block.offset() > static_cast<int64_t>(arrays_.parameters[tensor].size()) -
                           block.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id(), " does not lie in the model"));
  }
  pieces_[tensor].push_back({server, block.id(), block.offset(), block.size()});
  return state_.AddBlock(block.id(), {arrays_.parameters[tensor].subspan(
                                          block.offset(), block.size()),
                                      server, tensor, IsPushed(tensor)});
}

absl::Status ParameterClient::CheckCovered() const {
  for (size_t tensor = 0; tensor < pieces_.size(); ++tensor) {
    // Sorted, each begins where the one before ends.
    std::vector<Piece> sorted = pieces_[tensor];
    std::ranges::sort(sorted, {}, &Piece::offset);
    int64_t covered = 0;
    bool exactly = true;
    for (const Piece& piece : sorted) {
      exactly = exactly && piece.offset == covered;
      covered += piece.size;
    }
    if (!exactly ||
        covered != static_cast<int64_t>(arrays_.parameters[tensor].size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("the blocks do not cover tensor ", tensor, " exactly"));
    }
  }
  return absl::OkStatus();
}

void ParameterClient::OpenStream(size_t server, const std::string& address) {
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(
      channels_[server]);
  streams_[server] = std::make_unique<Stream>(
      kMaxQueuedFrames,
      Stream::Handlers{[this, server](const grpc::ByteBuffer& message) {
                         return TakeReceivedFrame(state_, server, message);
                       },
                       [this, address](const absl::Status& status) {
                         state_.Broken(Annotate(
                             status, absl::StrCat("server ", address)));
                       },
                       [this] { state_.Sent(); }},
      [&stub](grpc::ClientContext* context, auto* reactor) {
        stub.PrepareBidiStreamingCall(context, kExchange, grpc::StubOptions(),
                                      reactor);
      });
  v1::Frame hello;
  hello.mutable_hello()->set_incarnation(options_.incarnation);
  hello.mutable_hello()->set_run(options_.run);
  streams_[server]->Send(EncodeFrame(hello));
}

absl::Status ParameterClient::SetAll() {
  state_.BeginSet();
  for (size_t tensor = 0; tensor < pieces_.size(); ++tensor) {
    for (const Piece& piece : pieces_[tensor]) {
      v1::Frame frame;
      frame.mutable_set_block()->set_block(piece.block);
      const absl::Span<const float> values =
          arrays_.parameters[tensor].subspan(piece.offset, piece.size);
      streams_[piece.server]->Send(
          EncodeFrame(frame, BorrowSlice(BytesOf(values), arrays_.owner)));
    }
  }
  return state_.AwaitSet(3 * options_.lease);
}

absl::StatusOr<PullResult> ParameterClient::Pull(
    int64_t closing, bool keep, const std::function<void(size_t)>& on_tensor) {
  v1::Pull pull;
  pull.set_closing(closing);
  pull.set_keep(keep);
  return RunPull(std::move(pull), on_tensor);
}

absl::StatusOr<PullResult> ParameterClient::PullSnapshot(int64_t snapshot) {
  v1::Pull pull;
  pull.set_snapshot(snapshot);
  return RunPull(std::move(pull));
}

absl::StatusOr<PullResult> ParameterClient::RunPull(
    v1::Pull pull, const std::function<void(size_t)>& on_tensor) {
  pull.set_without_frozen(whole_);
  pull.set_request(
      state_.BeginPull(/*telling=*/on_tensor != nullptr, /*whole=*/!whole_));
  pull.set_format(ToWire(options_.wire));
  v1::Frame frame;
  *frame.mutable_pull() = std::move(pull);
  for (const auto& stream : streams_) {
    if (stream != nullptr) stream->Send(EncodeFrame(frame));
  }
  // A parked pull is answered after a lease: three without a word are more than
  // that.
  absl::StatusOr<PullResult> pulled =
      state_.AwaitPull(3 * options_.lease, on_tensor);
  whole_ = whole_ || pulled.ok();
  return pulled;
}

void ParameterClient::BeginPush(const v1::PushBlock& header) {
  push_ = header;
  push_.set_format(ToWire(options_.wire));
  pushed_ = PushResult();
  state_.BeginPush(header.iteration());
}

void ParameterClient::PushTensor(size_t tensor) {
  if (!IsPushed(tensor)) return;
  for (const Piece& piece : pieces_[tensor]) {
    v1::Frame frame;
    *frame.mutable_push_block() = push_;
    frame.mutable_push_block()->set_block(piece.block);
    const size_t element = ElementSize(options_.wire);
    const absl::string_view gradient = arrays_.gradients[tensor].substr(
        piece.offset * element, piece.size * element);
    ++pushed_.blocks;
    pushed_.bytes += gradient.size();
    streams_[piece.server]->Send(
        EncodeFrame(frame, BorrowSlice(gradient, arrays_.owner)));
  }
}

absl::StatusOr<PushResult> ParameterClient::FinishPush() {
  PACELINE_ASSIGN_OR_RETURN(pushed_.blocks_refused,
                            state_.AwaitPush(3 * options_.lease));
  return pushed_;
}

}  // namespace paceline
