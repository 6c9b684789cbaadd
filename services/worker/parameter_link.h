#ifndef PACELINE_SERVICES_WORKER_PARAMETER_LINK_H_
#define PACELINE_SERVICES_WORKER_PARAMETER_LINK_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/lane/memory_lane.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/frame_codec.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "services/worker/dial.h"
#include "services/worker/exchange_state.h"

namespace paceline {

// Hands one frame of server `server` on to the exchange. `lane` is the
// stream's, or null. An error is the server's and ends its stream: those of
// PayloadOf() and of the exchange, INVALID_ARGUMENT for a frame that is not for
// a worker.
absl::Status TakeReceivedFrame(ExchangeState& state, size_t server,
                               const ReceivedFrame& frame, MemoryLane* lane);

// A frame and the bytes of its payload, which it borrows.
struct OutgoingFrame {
  v1::Frame header;
  grpc::Slice payload;
};

// Whether a stream that ended with `status`, which is not OK, may go on as a
// new one: connections break with UNAVAILABLE, INTERNAL, CANCELLED and UNKNOWN,
// a server that stops or was replaced says UNAVAILABLE, and one that was
// started anew NOT_FOUND, until the coordinator says who has the shard.
// Everything else is an answer that would be given again.
bool MayBreakAndGoOn(const absl::Status& status);

// One worker's link to one parameter server: a channel and a stream, which are
// replaced when the stream breaks. What is still open at that server is then
// asked and pushed again: the server takes each block of a push once, however
// often it comes.
//
// It dials again, after pauses that grow, until the exchange is broken or the
// worker is to stop; a wait's limit is the exchange's. The channel is a new one
// each time, which looks its name up anew. Where the shard has another server
// that one is dialled at once. A stream that breaks for good, or was never
// connected, breaks the exchange.
//
// A connection over which nothing is answered for three quarters of a lease is
// dead, or slower than an exchange is large: the next one is believed four
// times as long, until something was heard by one that then broke.
//
// With a server of the same machine it shares memory, a lane for each stream,
// if the server offers that.
//
// Bytes that a frame borrows must stay until the exchange that it is of is
// over, or Withdraw() was called. An old stream may still send some of them
// later; a server that has acknowledged a push applies nothing of it any more.
// What a stream has referred to is withdrawn when it is left, before another
// takes its place: so no server, not even one that was replaced and does not
// know it, takes what is half of one push and half of another.
//
// Thread-safe.
class ParameterLink {
 public:
  struct Options {
    std::string address;    // "host:port", at first.
    v1::StreamHello hello;  // The same.
    absl::Duration lease;
    Dial dial;
    // Asked ten times a second while the server is waited for: no longer, then.
    std::function<bool()> stopped;
    // It was reached again. From a thread of the link's.
    std::function<void()> redialled;
    // The frames that write the shard's weights, as they were pulled last.
    std::function<std::vector<OutgoingFrame>()> weights;
    // The server of that epoch has taken them. From a thread of the stream's.
    std::function<void(uint64_t epoch)> filled;
    // Of the shard's weights: for how many a lane is to have room.
    uint64_t bytes = 0;
    // As TensorArrays::shared_gradients.
    std::shared_ptr<const SharedMemory> gradients = nullptr;
  };
  enum class Exchange : uint8_t { kSet, kPush, kPull };

  // Begins to connect. The server is number `server` of `state`, which outlives
  // the link.
  ParameterLink(Options options, size_t server, ExchangeState* state);
  ~ParameterLink();
  ParameterLink(const ParameterLink&) = delete;
  ParameterLink& operator=(const ParameterLink&) = delete;

  // The first time: waits for the connection, then opens the stream, whether
  // there is one or not.
  void AwaitConnection(absl::Time deadline);
  void Open();

  // The shard has that server, which is dialled in place of the one before.
  // Nothing happens if `epoch` is not above the one known. With `fill` the
  // weights are written there before anything else.
  void Rewire(const std::string& address, uint64_t epoch, bool fill = false)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The next exchange of its kind, by its number in the ExchangeState, where it
  // has begun; then its frames, which leave together as FrameBatch says.
  void Begin(Exchange kind, uint64_t number);
  void Send(Exchange kind, std::vector<OutgoingFrame> frames);

  // What was sent may change where it lies: the server takes nothing more from
  // there.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Stream = ClientStream<grpc::ByteBuffer, grpc::ByteBuffer>;

  // One exchange, as a new stream would begin it again.
  struct Begun {
    uint64_t number = 0;
    std::vector<OutgoingFrame> frames;
  };

  std::unique_ptr<Stream> OpenStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendNow(absl::Span<const OutgoingFrame> frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reactions.
  absl::Status Received(const grpc::ByteBuffer& message)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TakeFrame(const ReceivedFrame& frame) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TakeUp(const v1::LaneOffer& offer);
  void Repeat(const Begun& begun, uint64_t open)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The pull's weights have been read where they lay.
  void TellRead(const v1::Frame& end) ABSL_LOCKS_EXCLUDED(mu_);
  // Once the weights are taken that the server is filled with.
  void TellFilled() ABSL_LOCKS_EXCLUDED(mu_);
  // A reaction: the stream has ended.
  void Ended(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);

  // The link's thread: mends what breaks.
  void Keep();
  // False if the link is not needed any more.
  bool AwaitBreak(absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  bool Redial(const absl::Status& why);
  bool Pause(absl::Duration time);
  void DropStream() ABSL_LOCKS_EXCLUDED(mu_);
  // A connection. False: not before `deadline`, or it is not wanted any more;
  // with `once` also if the first attempt has failed.
  bool AwaitChannel(absl::Time deadline, bool once);
  bool Unwanted() ABSL_LOCKS_EXCLUDED(mu_);
  bool rewired() ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  const size_t server_;
  ExchangeState* const state_;
  // Only the thread uses it once there is one.
  std::shared_ptr<grpc::Channel> channel_;
  bool connected_ = false;           // Once; constant from Open() on.
  std::atomic<bool> heard_ = false;  // A frame has come by this stream.
  std::atomic<bool> filling_ = false;
  // The stream's, once it was offered. Only the stream's reactions use it.
  std::shared_ptr<MemoryLane> lane_;
  absl::Duration pause_;     // Before the next dialling.
  absl::Duration liveness_;  // Of the channel.
  absl::Time opened_;        // The stream.

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::string address_ ABSL_GUARDED_BY(mu_);
  v1::StreamHello hello_ ABSL_GUARDED_BY(mu_);
  bool rewired_ ABSL_GUARDED_BY(mu_) = false;  // Not dialled yet.
  bool fill_ ABSL_GUARDED_BY(mu_) = false;   // Weights are to be written first.
  absl::Status broke_ ABSL_GUARDED_BY(mu_);  // Not OK: to be mended.
  std::array<Begun, 3> begun_ ABSL_GUARDED_BY(mu_);  // By Exchange.
  // The stream's, once the server has it, for what is sent.
  std::shared_ptr<MemoryLane> lending_ ABSL_GUARDED_BY(mu_);
  // Last: its reactions use everything above.
  std::unique_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PARAMETER_LINK_H_
