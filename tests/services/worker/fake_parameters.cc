#include "tests/services/worker/fake_parameters.h"

#include <chrono>
#include <utility>

#include "common/check.h"
#include "common/rpc/frame_batch.h"
#include "common/status.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

std::string FrameBytes(const ReceivedFrame& frame) {
  std::string bytes;
  for (const grpc::Slice& slice : frame.slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  // The payload is the end of the frame.
  return bytes.substr(bytes.size() - frame.payload.size());
}

}  // namespace

class FakeParameters::Stream : public ServerStream<Buffer, Buffer> {
 public:
  explicit Stream(FakeParameters* server)
      : ServerStream(100'000), server_(server) {}

 protected:
  absl::Status OnMessage(Buffer& message) override {
    return TakeFrames(message, [this](const ReceivedFrame& frame) {
      server_->OnMessage(*this, frame);
      return absl::OkStatus();
    });
  }
  void OnDisconnected() override {}

 private:
  FakeParameters* const server_;
};

FakeParameters::FakeParameters(const std::string& address) {
  auto listening = Listen(address, ChannelProfile::kBulk, {}, {this});
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

FakeParameters::~FakeParameters() {
  registry_.CloseAll(absl::UnavailableError("the server is stopping"));
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
  EXPECT_TRUE(registry_.AwaitEmpty(absl::Seconds(30)));
}

v1::BeginJob FakeParameters::Begin(const v1::WorkerReady& ready,
                                   bool initialize) {
  v1::BeginJob begin;
  begin.set_initialize(initialize);
  v1::Shard& shard = *begin.add_shards();
  shard.set_address(listening_.address);
  for (int i = 0; i < ready.tensors_size(); ++i) {
    v1::Block& block = *shard.add_blocks();
    block.set_id(i);
    block.set_tensor(i);
    block.set_size(ready.tensors(i).size());
  }
  absl::MutexLock lock(&mu_);
  blocks_ = ready.tensors_size();
  frozen_.clear();
  for (int i = 0; i < ready.tensors_size(); ++i) {
    if (ready.tensors(i).kind() == v1::TensorSpec::FROZEN) frozen_.insert(i);
  }
  return begin;
}

void FakeParameters::HoldPulls(int64_t from_closing) {
  absl::MutexLock lock(&mu_);
  hold_pulls_ = from_closing;
}

void FakeParameters::AnswerPulls() {
  absl::MutexLock lock(&mu_);
  hold_pulls_.reset();
  for (const HeldPull& held : held_pulls_) {
    const auto stream = held.stream.lock();
    if (stream) Answer(static_cast<Stream&>(*stream), held.pull);
  }
  held_pulls_.clear();
}

void FakeParameters::FailPulls(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  fail_pulls_ = status;
  if (status.ok()) return;
  hold_pulls_.reset();
  for (const HeldPull& held : held_pulls_) {
    const auto stream = held.stream.lock();
    if (stream) Fail(static_cast<Stream&>(*stream), held.pull.request());
  }
  held_pulls_.clear();
}

std::vector<int64_t> FakeParameters::pulls() {
  absl::MutexLock lock(&mu_);
  return pulls_;
}

void FakeParameters::Fail(Stream& stream, uint64_t request) {
  v1::Frame answer;
  answer.mutable_pull_end()->set_request(request);
  answer.mutable_pull_end()->set_code(static_cast<int>(fail_pulls_.code()));
  answer.mutable_pull_end()->set_message(std::string(fail_pulls_.message()));
  stream.Send(EncodeFrame(answer));
}

void FakeParameters::HoldPushes() {
  absl::MutexLock lock(&mu_);
  hold_pushes_ = true;
}

void FakeParameters::AcknowledgePushes() {
  absl::MutexLock lock(&mu_);
  hold_pushes_ = false;
  for (const auto& weak : streams_) {
    const auto stream = weak.lock();
    for (const int64_t iteration : held_pushes_) {
      if (stream) static_cast<Stream&>(*stream).Send(AckOf(iteration));
    }
  }
  held_pushes_.clear();
}

void FakeParameters::RefuseBlock(std::optional<uint32_t> block) {
  absl::MutexLock lock(&mu_);
  refuse_ = block;
}

FakeParameters::Buffer FakeParameters::AckOf(int64_t iteration) const {
  v1::Frame answer;
  answer.mutable_push_ack()->set_iteration(iteration);
  answer.mutable_push_ack()->set_gradient_square(0.25);
  if (refuse_.has_value()) answer.mutable_push_ack()->add_refused(*refuse_);
  return EncodeFrame(answer);
}

void FakeParameters::BreakStreams(const absl::Status& status) {
  std::vector<std::weak_ptr<OpenStream>> streams;
  {
    absl::MutexLock lock(&mu_);
    streams.swap(streams_);
    held_pulls_.clear();
    held_pushes_.clear();
  }
  for (const auto& weak : streams) {
    if (const auto stream = weak.lock()) stream->Close(status);
  }
}

void FakeParameters::BreakOneStream(const absl::Status& status) {
  std::shared_ptr<OpenStream> last;
  {
    absl::MutexLock lock(&mu_);
    last = streams_.back().lock();
    held_pulls_.clear();
    held_pushes_.clear();
  }
  if (last != nullptr) last->Close(status);
}

v1::StreamHello FakeParameters::NextHello() {
  const auto hello = hellos_.Take(absl::Seconds(30));
  EXPECT_TRUE(hello.ok());
  return hello.ok() ? *hello : v1::StreamHello();
}

int FakeParameters::sets() {
  absl::MutexLock lock(&mu_);
  return sets_;
}

int FakeParameters::pushes() {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(pushed_blocks_ / (blocks_ - frozen_.size()));
}

int FakeParameters::early_pushes() {
  absl::MutexLock lock(&mu_);
  return early_pushes_;
}

std::string FakeParameters::Pushed(uint32_t block) {
  absl::MutexLock lock(&mu_);
  const auto there = [this, block]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return pushed_.contains(block);
  };
  mu_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(30));
  return pushed_[block];
}

v1::WireFormat FakeParameters::Format(uint32_t block) {
  absl::MutexLock lock(&mu_);
  return formats_[block];
}

std::vector<std::vector<uint32_t>> FakeParameters::PushedByStreams() {
  absl::MutexLock lock(&mu_);
  std::vector<std::vector<uint32_t>> streams;
  for (const auto& [stream, blocks] : pushed_by_) streams.push_back(blocks);
  return streams;
}

void FakeParameters::OnMessage(Stream& stream, const ReceivedFrame& frame) {
  const v1::Frame& header = frame.header;
  absl::MutexLock lock(&mu_);
  v1::Frame answer;
  if (header.has_hello()) {
    hellos_.Put(header.hello());
  } else if (header.has_set_block()) {
    values_[header.set_block().block()] = FrameBytes(frame);
    if (++sets_ % blocks_ != 0) return;
    answer.mutable_set_done();
    stream.Send(EncodeFrame(answer));
  } else if (header.has_pull()) {
    pulls_.push_back(header.pull().closing());
    if (hold_pulls_.has_value() && header.pull().closing() >= *hold_pulls_) {
      held_pulls_.push_back({header.pull(), stream.weak_from_this()});
      return held_.Put(true);
    }
    if (!fail_pulls_.ok()) return Fail(stream, header.pull().request());
    Answer(stream, header.pull());
  } else if (header.has_push_block()) {
    if (values_.size() < blocks_) ++early_pushes_;
    pushed_[header.push_block().block()] = FrameBytes(frame);
    pushed_by_[&stream].push_back(header.push_block().block());
    formats_[header.push_block().block()] = header.push_block().format();
    if (++pushed_blocks_ % (blocks_ - frozen_.size()) != 0) return;
    const int64_t iteration = header.push_block().iteration();
    if (!hold_pushes_) return stream.Send(AckOf(iteration));
    held_pushes_.push_back(iteration);
    held_.Put(true);
  }
}

void FakeParameters::Answer(Stream& stream, const v1::Pull& pull) {
  for (const auto& [block, bytes] : values_) {
    if (pull.without_frozen() && frozen_.contains(block)) continue;
    if (pull.parts() > 0 && block % pull.parts() != pull.part()) continue;
    v1::Frame pulled;
    pulled.mutable_pulled_block()->set_request(pull.request());
    pulled.mutable_pulled_block()->set_block(block);
    pulled.mutable_pulled_block()->set_format(v1::FP32);
    stream.Send(EncodeFrame(pulled, grpc::Slice(bytes)));
  }
  v1::Frame end;
  end.mutable_pull_end()->set_request(pull.request());
  stream.Send(EncodeFrame(end));
}

grpc::ServerBidiReactor<FakeParameters::Buffer, FakeParameters::Buffer>*
FakeParameters::Exchange(grpc::CallbackServerContext*) {
  const auto stream = std::make_shared<Stream>(this);
  stream->Begin(&registry_);
  absl::MutexLock lock(&mu_);
  streams_.push_back(stream);
  return stream.get();
}

}  // namespace paceline
