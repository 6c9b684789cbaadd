#include "services/parameter_server/replica_stream.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/rpc/frame_codec.h"
#include "common/standstill.h"
#include "common/status.h"
#include "services/parameter_server/replica_wire.h"

namespace paceline {
namespace {

// What may be ready for the transport: enough to keep it busy, and no more than
// that, for a block that waits there is a copy if it is updated meanwhile.
constexpr size_t kMessagesAhead = 16;
constexpr size_t kMaxQueuedMessages = 1 << 10;

// While a backup is filled: so many changes of blocks that it has go before the
// next block, so that neither pushes nor the filling waits for the other.
constexpr int kEntriesPerBlock = 4;

constexpr absl::Duration kLook = absl::Milliseconds(50);
constexpr double kSilencePart = 0.5;  // Of a lease.
constexpr absl::Duration kShortestSilence = absl::Seconds(1);

}  // namespace

ReplicaStream::ReplicaStream(Options options, std::shared_ptr<JobShard> job,
                             uint64_t sequence, ServerMetrics* metrics)
    : options_(std::move(options)),
      job_(std::move(job)),
      metrics_(metrics),
      waker_(std::make_shared<Waker>()) {
  {
    absl::MutexLock lock(&waker_->mu);
    waker_->stream = this;
  }
  const absl::StatusOr<uint64_t> following =
      job_->Replicate(sequence, options_.hold, [waker = waker_] {
        absl::MutexLock lock(&waker->mu);
        if (waker->stream != nullptr) waker->stream->Wake();
      });
  if (following.ok()) following_ = *following;
  {
    absl::MutexLock lock(&mu_);
    ended_ = following.status();
    over_ = !ended_.ok();
  }
  thread_ = std::thread([this] { Run(); });
}

ReplicaStream::~ReplicaStream() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
  job_->log().Suspend(following_);
  absl::MutexLock lock(&waker_->mu);
  waker_->stream = nullptr;
}

void ReplicaStream::Wake() {
  absl::MutexLock lock(&mu_);
  woken_ = true;
}

void ReplicaStream::Run() {
  const std::shared_ptr<grpc::Channel> channel =
      options_.dial(options_.address, options_.lease);
  const absl::Status over = Follow(channel);
  // Nobody is told anything until the coordinator has said who follows now.
  job_->log().Suspend(following_);
  {
    absl::MutexLock lock(&mu_);
    if (ending_) return;
  }
  options_.report(over);
}

absl::Status ReplicaStream::Follow(
    const std::shared_ptr<grpc::Channel>& channel) {
  {
    absl::MutexLock lock(&mu_);
    if (over_) return ended_;
  }
  PACELINE_RETURN_IF_ERROR(AwaitConnection(*channel));
  grpc::TemplatedGenericStub<grpc::ByteBuffer, v1::ReplicaAck> stub(channel);
  std::atomic<Stream*> open = nullptr;
  Stream stream(
      kMaxQueuedMessages,
      {.on_message = [this](v1::ReplicaAck& ack) { return Acknowledged(ack); },
       .on_disconnected =
           [this](const absl::Status& status) {
             absl::MutexLock lock(&mu_);
             over_ = true;
             ended_ = status.ok() ? absl::UnavailableError("the stream ended")
                                  : status;
           },
       .on_sent =
           [this, &open] {
             {
               absl::MutexLock lock(&mu_);
               progress_ = Clock::Real().Now();
             }
             --messages_ahead_;
             if (Stream* const to = open.load()) Pump(*to);
           }},
      [&stub](grpc::ClientContext* context, auto* reactor) {
        stub.PrepareBidiStreamingCall(context,
                                      "/paceline.v1.Replication/Follow",
                                      grpc::StubOptions(), reactor);
      });
  v1::ReplicaEntry hello;
  *hello.mutable_hello() = options_.hello;
  ++messages_ahead_;
  stream.Send(EncodeFrame(hello));
  open = &stream;
  return Feed(stream);
}

absl::Status ReplicaStream::Feed(Stream& stream) {
  const absl::Duration silence =
      std::max(kShortestSilence, kSilencePart * options_.lease);
  const auto something = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return woken_ || over_ || ending_;
  };
  {
    absl::MutexLock lock(&mu_);
    progress_ = Clock::Real().Now();
  }
  bool asked = false;
  while (true) {
    Pump(stream);
    absl::MutexLock lock(&mu_);
    const absl::Time looked = Clock::Real().Now();
    mu_.AwaitWithTimeout(absl::Condition(&something), kLook);
    progress_ += StandstillIn(looked, kLook);
    woken_ = false;
    if (over_) return ended_;
    if (ending_) return absl::CancelledError("another order came");
    // It is silent while something is asked of it, and not before that.
    const bool asked_before =
        std::exchange(asked, job_->log().awaits_acknowledgement());
    if (asked && !asked_before) progress_ = Clock::Real().Now();
    if (asked && Clock::Real().Now() - progress_ > silence) {
      return absl::DeadlineExceededError(
          absl::StrCat("the backup ", options_.address, " was silent for ",
                       absl::FormatDuration(silence)));
    }
  }
}

absl::Status ReplicaStream::AwaitConnection(grpc::Channel& channel) {
  const Clock& clock = Clock::Real();
  const absl::Time deadline =
      clock.Now() + std::max(kShortestSilence, kSilencePart * options_.lease);
  while (clock.Now() < deadline) {
    {
      absl::MutexLock lock(&mu_);
      if (ending_) return absl::CancelledError("another order came");
    }
    channel.GetState(/*try_to_connect=*/true);
    if (channel.WaitForConnected(absl::ToChronoTime(absl::Now() + kLook))) {
      return absl::OkStatus();
    }
    if (channel.GetState(true) == GRPC_CHANNEL_TRANSIENT_FAILURE) break;
  }
  return absl::UnavailableError(
      absl::StrCat("the backup ", options_.address, " cannot be reached"));
}

absl::Status ReplicaStream::Acknowledged(const v1::ReplicaAck& ack) {
  {
    absl::MutexLock lock(&mu_);
    progress_ = Clock::Real().Now();
  }
  const absl::StatusOr<bool> complete =
      job_->log().Acknowledged(following_, ack.entries());
  if (complete.ok() && *complete) options_.report(absl::OkStatus());
  return complete.status();
}

std::optional<ReplicaLog::Outgoing> ReplicaStream::Next() {
  auto entry = job_->log().Take(following_);
  if (!filling_ || (entry.has_value() && ++since_block_ < kEntriesPerBlock)) {
    return entry;
  }
  since_block_ = 0;
  filling_ = job_->FillFurther(following_, filled_blocks_++);
  return entry.has_value() ? std::move(entry) : job_->log().Take(following_);
}

void ReplicaStream::Pump(Stream& stream) {
  absl::MutexLock pump(&pump_mu_);
  while (messages_ahead_ < kMessagesAhead) {
    const auto entry = Next();
    if (!entry.has_value()) return;
    for (const grpc::ByteBuffer& message :
         ToWire(entry->entry, entry->acknowledge)) {
      metrics_->replica_bytes.Increment(static_cast<double>(message.Length()));
      ++messages_ahead_;
      stream.Send(message);
    }
    metrics_->replica_entries.Increment();
  }
}

}  // namespace paceline
