#include "services/worker/parameter_client.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/frame_batch.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

// Of a lease, for all servers together.
constexpr double kDialPart = 0.75;

// The floats in that format, in `bytes`.
absl::string_view Convert(DType format, absl::Span<const float> floats,
                          std::vector<char>& bytes) {
  bytes.resize(EncodedSize(format, floats.size()));
  ConvertFromF32(format, floats.data(), floats.size(), bytes.data());
  return {bytes.data(), bytes.size()};
}

std::vector<int64_t> ElementsOf(const v1::Shard& shard) {
  std::vector<int64_t> elements;
  for (const v1::Block& block : shard.blocks()) {
    elements.push_back(block.size());
  }
  return elements;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterClient>> ParameterClient::Connect(
    const v1::BeginJob& begin, TensorArrays arrays, const Options& options) {
  const auto& shards = begin.shards();
  auto client =
      absl::WrapUnique(new ParameterClient(std::move(arrays), options));
  for (int i = 0; i < shards.size(); ++i) {
    for (int place = 0; place < shards[i].blocks_size(); ++place) {
      PACELINE_RETURN_IF_ERROR(
          client->AddBlock(i, place, shards[i].blocks(place)));
    }
  }
  PACELINE_RETURN_IF_ERROR(client->CheckCovered());
  client->links_.resize(shards.size());
  for (int i = 0; i < shards.size(); ++i) {  // All at once.
    if (!client->state_.Hosts(i)) continue;
    ParameterLink::Options link{
        .address = shards[i].address(),
        .hello = {},
        .lease = options.lease,
        .connections = shards[i].connections(),
        .dial = options.dial,
        .stopped = options.stopped,
        .redialled = options.redialled,
        .weights = [of = client.get(), i] { return of->WeightsOf(i); },
        .filled = [of = client.get(),
                   i](uint64_t epoch) { of->TellFilled(i, epoch); },
        .bytes = client->BytesOf(i),
        .blocks = ElementsOf(shards[i]),
        .gradients = client->arrays_.shared_gradients};
    link.hello.set_incarnation(options.incarnation);
    link.hello.set_run(options.run);
    if (options.share_memory) link.hello.set_host(HostKey());
    // A coordinator that knows no epochs knows no numbers of shards either.
    if (shards[i].epoch() > 0) {
      link.hello.set_shard(static_cast<uint32_t>(i));
    }
    link.hello.set_epoch(shards[i].epoch());
    client->links_[i] =
        std::make_unique<ParameterLink>(std::move(link), i, &client->state_);
  }
  client->AwaitServers();
  return client;
}

void ParameterClient::Rewire(const v1::Rewire& rewire) {
  if (rewire.shard() >= links_.size()) return;
  const auto& link = links_[rewire.shard()];
  if (link == nullptr) return;
  link->Rewire(rewire);
}

void ParameterClient::AwaitServers() {
  const absl::Time deadline = Clock::Real().Now() + kDialPart * options_.lease;
  for (const auto& link : links_) {
    if (link != nullptr) link->AwaitConnection(deadline);
  }
  for (const auto& link : links_) {
    if (link != nullptr) link->Open();
  }
}

ParameterClient::ParameterClient(TensorArrays arrays, const Options& options)
    : arrays_(std::move(arrays)),
      options_(options),
      pieces_(arrays_.parameters.size()),
      feedback_(std::make_shared<ErrorFeedback>()),
      converted_(std::make_shared<ConvertedBlocks>()) {
  const DType held = arrays_.GradientsAs(options_.wire);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    CHECK(!arrays_.IsPushed(i) ||
          arrays_.gradients[i].size() ==
              EncodedSize(held, arrays_.parameters[i].size()));
  }
}

absl::Status ParameterClient::AddBlock(size_t server, size_t place,
                                       const v1::Block& block) {
  const size_t tensor = block.tensor();
  if (tensor >= pieces_.size() || block.offset() < 0 || block.size() < 1 ||
      block.offset() > static_cast<int64_t>(arrays_.parameters[tensor].size()) -
                           block.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id(), " does not lie in the model"));
  }
  pieces_[tensor].push_back(
      {server, block.id(), place, block.offset(), block.size()});
  return state_.AddBlock(
      block.id(),
      {arrays_.parameters[tensor].subspan(block.offset(), block.size()), server,
       tensor, arrays_.IsPushed(tensor)});
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

void ParameterClient::BeginAtAll(Exchange kind, uint64_t number) {
  for (const auto& link : links_) {
    if (link != nullptr) link->Begin(kind, number);
  }
}

void ParameterClient::TellFilled(size_t shard, uint64_t epoch) const {
  v1::ShardFilled filled;
  filled.set_shard(static_cast<uint32_t>(shard));
  filled.set_epoch(epoch);
  filled.set_base_version(base_version_);
  options_.filled(std::move(filled));
}

uint64_t ParameterClient::BytesOf(size_t shard) const {
  uint64_t bytes = 0;
  for (const std::vector<Piece>& pieces : pieces_) {
    for (const Piece& piece : pieces) {
      if (piece.server != shard) continue;
      bytes +=
          EncodedSize(PulledAs(options_.wire), static_cast<size_t>(piece.size));
    }
  }
  return bytes;
}

std::vector<OutgoingFrame> ParameterClient::WeightsOf(size_t shard) const {
  std::vector<OutgoingFrame> frames;
  for (size_t tensor = 0; tensor < pieces_.size(); ++tensor) {
    for (const Piece& piece : pieces_[tensor]) {
      if (piece.server != shard) continue;
      v1::Frame frame;
      frame.mutable_set_block()->set_block(piece.block);
      const absl::Span<const float> values =
          arrays_.parameters[tensor].subspan(piece.offset, piece.size);
      frames.push_back({std::move(frame),
                        BorrowSlice(paceline::BytesOf(values), arrays_.owner)});
    }
  }
  return frames;
}

absl::Status ParameterClient::SetAll() {
  BeginAtAll(Exchange::kSet, state_.BeginSet());
  for (size_t shard = 0; shard < links_.size(); ++shard) {
    const auto& link = links_[shard];
    if (link != nullptr) link->Send(Exchange::kSet, WeightsOf(shard));
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
  SendPull(std::move(pull), state_.BeginPull(/*whole=*/!whole_));
  return AwaitAhead(on_tensor);
}

void ParameterClient::SendPull(v1::Pull pull, uint64_t request) {
  pull.set_without_frozen(whole_);
  pull.set_request(request);
  pull.set_format(ToWire(PulledAs(options_.wire)));
  BeginAtAll(Exchange::kPull, pull.request());
  v1::Frame frame;
  *frame.mutable_pull() = std::move(pull);
  for (const auto& link : links_) {
    if (link != nullptr) link->Send(Exchange::kPull, {{frame, grpc::Slice()}});
  }
}

absl::StatusOr<PullResult> ParameterClient::AwaitAhead(
    const std::function<void(size_t)>& on_tensor) {
  // A parked pull is answered after a lease: three without a word are more than
  // that.
  absl::StatusOr<PullResult> pulled =
      state_.AwaitPull(3 * options_.lease, on_tensor);
  whole_ = whole_ || pulled.ok();
  return pulled;
}

void ParameterClient::BeginPush(const v1::PushBlock& header) {
  push_ = header;
  pushed_ = PushResult();
  feedback_->BeginPush();
  state_.BeginPush(header.iteration());
  BeginAtAll(Exchange::kPush, static_cast<uint64_t>(header.iteration()));
}

void ParameterClient::PushTensors(size_t first, size_t end) {
  struct Gathered {
    std::vector<OutgoingFrame> frames;
    size_t bytes = 0;
  };
  std::vector<Gathered> gathered(links_.size());
  const auto send = [&](size_t server) {
    Gathered of = std::exchange(gathered[server], {});
    links_[server]->Send(Exchange::kPush, std::move(of.frames));
  };
  for (size_t tensor = end; tensor-- > first;) {
    if (!arrays_.IsPushed(tensor)) continue;
    for (const Piece& piece : pieces_[tensor]) {
      Gathered& of = gathered[piece.server];
      // What has to be converted comes while these are on their way.
      if (of.bytes >= FrameBatch::kMostCarried &&
          piece.size * sizeof(float) > FrameBatch::kTiny) {
        send(piece.server);
      }
      of.frames.push_back(PushOf(tensor, piece));
      of.bytes += of.frames.back().payload.size();
    }
  }
  for (size_t server = 0; server < gathered.size(); ++server) {
    if (!gathered[server].frames.empty()) send(server);
  }
}

OutgoingFrame ParameterClient::PushOf(size_t tensor, const Piece& piece) {
  const DType held = arrays_.GradientsAs(options_.wire);
  const DType pushed = arrays_.PushedAs(tensor, options_.wire);
  v1::Frame frame;
  *frame.mutable_push_block() = push_;
  frame.mutable_push_block()->set_block(piece.block);
  frame.mutable_push_block()->set_format(ToWire(pushed));
  absl::string_view gradient = arrays_.gradients[tensor].substr(
      EncodedSize(held, piece.offset), EncodedSize(held, piece.size));
  std::shared_ptr<const void> owner = arrays_.owner;
  if (pushed != held) {
    const absl::Span<const float> floats(
        reinterpret_cast<const float*>(gradient.data()),
        static_cast<size_t>(piece.size));
    if (pushed == DType::kInt8) {
      gradient = feedback_->Encode(piece.block, floats);
      owner = feedback_;
    } else {
      gradient = Convert(pushed, floats, (*converted_)[piece.block]);
      owner = converted_;
    }
  }
  ++pushed_.blocks;
  pushed_.bytes += gradient.size();
  return {std::move(frame), BorrowSlice(gradient, std::move(owner)),
          piece.place};
}

absl::StatusOr<PushResult> ParameterClient::FinishPush(
    const std::function<void(const PushResult&)>& taken,
    std::optional<int64_t> ahead) {
  const auto on_taken = [this, &taken](const TakenPush& of) {
    pushed_.blocks_refused = of.refused;
    pushed_.gradient_square = of.gradient_square;
    if (taken != nullptr) taken(pushed_);
  };
  uint64_t request = 0;
  if (ahead.has_value()) {
    request = state_.BeginPull(/*whole=*/!whole_, /*ahead=*/true);
  }
  // Before the weights can come, so that they are not laid aside.
  state_.WhenTaken(on_taken);
  if (ahead.has_value()) {
    v1::Pull pull;
    pull.set_closing(*ahead);
    SendPull(std::move(pull), request);
  }
  const absl::Status waited = state_.AwaitPush(3 * options_.lease).status();
  if (!waited.ok()) {
    // The gradients may be written again, and a server may be at them still.
    for (const auto& link : links_) {
      if (link != nullptr) link->Withdraw();
    }
    return waited;
  }
  feedback_->Taken(state_.refused());
  return pushed_;
}

}  // namespace paceline
