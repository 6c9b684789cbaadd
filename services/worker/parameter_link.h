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
#include "common/rpc/frame_batch.h"
#include "common/rpc/frame_codec.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "services/worker/dial.h"
#include "services/worker/exchange_state.h"

namespace paceline {

// Hands one frame of server `server` on to the exchange. `lane` is the
// stream's, or null; `part`: of a pull, what that stream brings. An error is
// the server's and ends its stream: those of PayloadOf() and of the exchange,
// INVALID_ARGUMENT for a frame that is not for a worker.
absl::Status TakeReceivedFrame(ExchangeState& state, size_t server,
                               const ReceivedFrame& frame, MemoryLane* lane,
                               uint32_t part = 0);

// A frame and the bytes of its payload, which it borrows.
struct OutgoingFrame {
  v1::Frame header;
  grpc::Slice payload;
  size_t place = 0;  // Of a block, among the server's.
};

// One exchange of a link, as a new stream would begin it again.
struct BegunExchange {
  uint64_t number = 0;
  uint32_t streams = 1;  // Which its frames are dealt out to.
  std::vector<OutgoingFrame> frames;
};

// Whether a stream that ended with `status`, which is not OK, may go on as a
// new one: connections break with UNAVAILABLE, INTERNAL, CANCELLED and UNKNOWN,
// a server that stops or was replaced says UNAVAILABLE, and one that was
// started anew NOT_FOUND, until the coordinator says who has the shard.
// Everything else is an answer that would be given again.
bool MayBreakAndGoOn(const absl::Status& status);

// Of a ParameterLink.
struct ParameterLinkOptions {
  std::string address;    // "host:port", at first.
  v1::StreamHello hello;  // The same.
  absl::Duration lease;
  uint32_t connections = 1;  // At first; 0 is 1, and more than may be the most.
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
  std::vector<int64_t> blocks = {};  // The shard's: their elements, in order.
  // As TensorArrays::shared_gradients.
  std::shared_ptr<const SharedMemory> gradients = nullptr;
};

// One worker's link to one parameter server: a channel and a stream, or several
// of them, which are replaced when a stream breaks. What is still open at that
// server is then asked and pushed again: the server takes each block of a push
// once, however often it comes.
//
// Several connections are one group, because one is a core's work on either
// side. Number i of k has the blocks i, i + k, ... of the server, both ways, so
// that what comes for a block comes in order. If one breaks, all are left, and
// a new group is opened. The first one alone has what must come before
// everything else, starting weights, and what is sent until the server has
// them; and all of it where memory is shared.
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
// With a server of the same machine it shares memory, a lane for each group, if
// the server offers that.
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
  using Options = ParameterLinkOptions;
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
  // Nothing happens if its epoch is not above the one known. With `fill` the
  // weights are written there before anything else.
  void Rewire(const v1::Rewire& rewire) ABSL_LOCKS_EXCLUDED(mu_);

  // The next exchange of its kind, by its number in the ExchangeState, where it
  // has begun; then its frames, which leave together as FrameBatch says.
  void Begin(Exchange kind, uint64_t number);
  void Send(Exchange kind, std::vector<OutgoingFrame> frames);

  // What was sent may change where it lies: the server takes nothing more from
  // there.
  void Withdraw() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Stream = ClientStream<grpc::ByteBuffer, grpc::ByteBuffer>;

  using Begun = BegunExchange;
  using Streams = std::vector<std::unique_ptr<Stream>>;

  // To `address_`.
  void Dial() ABSL_LOCKS_EXCLUDED(mu_);
  // By the channels that there are.
  void OpenStreams() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<Stream> OpenStream(uint32_t index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // How many streams an exchange that begins now is dealt out to.
  uint32_t StreamsFor(Exchange kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Begun& Deal(Exchange kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendNow(const Begun& begun, absl::Span<const OutgoingFrame> frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // By which of the streams it goes.
  uint32_t StreamOf(const Begun& begun, const OutgoingFrame& frame)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `batch` is what goes by stream number `index`.
  void AddTo(FrameBatch& batch, uint32_t index, v1::Frame header,
             grpc::Slice payload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendBy(uint32_t index, FrameBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reactions, of stream number `index`.
  absl::Status Received(uint32_t index, const grpc::ByteBuffer& message)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TakeFrame(uint32_t index, const ReceivedFrame& frame)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status TakeUp(const v1::LaneOffer& offer);
  absl::Status Opened(const v1::LaneOpen& opened) ABSL_LOCKS_EXCLUDED(mu_);
  void Repeat(Exchange kind, uint64_t open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The pull's weights have been read where they lay.
  void TellRead(const v1::Frame& end) ABSL_LOCKS_EXCLUDED(mu_);
  // Once the weights are taken that the server is filled with.
  void TellFilled() ABSL_LOCKS_EXCLUDED(mu_);
  // A reaction: a stream has ended.
  void Ended(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);

  // The link's thread: mends what breaks.
  void Keep();
  // False if the link is not needed any more.
  bool AwaitBreak(absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  bool Redial(const absl::Status& why);
  bool Pause(absl::Duration time);
  void DropStreams() ABSL_LOCKS_EXCLUDED(mu_);
  // All connections. False: not before `deadline`, or they are not wanted any
  // more; with `once` also if the first attempt at one has failed.
  bool AwaitChannels(absl::Time deadline, bool once);
  bool AwaitChannel(grpc::Channel& channel, absl::Time deadline, bool once);
  bool Unwanted() ABSL_LOCKS_EXCLUDED(mu_);
  bool rewired() ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  const size_t server_;
  ExchangeState* const state_;
  // Only the thread uses it once there is one.
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  bool connected_ = false;           // Once; constant from Open() on.
  std::atomic<bool> heard_ = false;  // A frame has come by this group.
  // The epoch in which the server is being filled with weights; 0: it is not.
  std::atomic<uint64_t> filling_ = 0;
  // The first stream's, once it was offered. Only its reactions use it.
  std::shared_ptr<MemoryLane> lane_;
  absl::Duration pause_;     // Before the next dialling.
  absl::Duration liveness_;  // Of the channel.
  absl::Time opened_;        // The streams.

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::string address_ ABSL_GUARDED_BY(mu_);
  uint32_t connections_ ABSL_GUARDED_BY(mu_);  // To be opened there.
  v1::StreamHello hello_ ABSL_GUARDED_BY(mu_);
  bool rewired_ ABSL_GUARDED_BY(mu_) = false;  // Not dialled yet.
  bool fill_ ABSL_GUARDED_BY(mu_) = false;   // Weights are to be written first.
  bool left_ ABSL_GUARDED_BY(mu_) = false;   // The state knows of a break.
  absl::Status broke_ ABSL_GUARDED_BY(mu_);  // Not OK: to be mended.
  std::array<Begun, 3> begun_ ABSL_GUARDED_BY(mu_);  // By Exchange.
  // The stream of each block, if there are so many.
  std::vector<uint32_t> dealt_ ABSL_GUARDED_BY(mu_);
  uint32_t dealt_to_ ABSL_GUARDED_BY(mu_) = 0;
  // The first stream's, once the server has it, for what is sent.
  std::shared_ptr<MemoryLane> lending_ ABSL_GUARDED_BY(mu_);
  // Last: their reactions use everything above.
  Streams streams_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PARAMETER_LINK_H_
