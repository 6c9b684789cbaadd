#ifndef PACELINE_SERVICES_WORKER_PARAMETER_CLIENT_H_
#define PACELINE_SERVICES_WORKER_PARAMETER_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/lane/shared_memory.h"
#include "common/rpc/wire_format.h"
#include "common/tensor/dtype.h"
#include "common/tensor/tensor_kind.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "services/worker/dial.h"
#include "services/worker/error_feedback.h"
#include "services/worker/exchange_state.h"
#include "services/worker/parameter_link.h"

namespace paceline {

// A model's arrays as the client reads and writes them, one a tensor; they stay
// where they are, and alive, as long as `owner` is held.
struct TensorArrays {
  std::vector<absl::Span<float>> parameters;
  std::vector<absl::string_view> gradients;  // In the format of GradientsAs().
  std::shared_ptr<const void> owner;
  std::vector<TensorKind> kinds = {};  // Empty: all are trained.
  // The gradients are fp32, and the client converts them, each block just
  // before it leaves. Otherwise whoever computes them has done that.
  bool unconverted = false;
  // Memory in which gradients lie, if it may be read by servers of this
  // machine. Null: it may not.
  std::shared_ptr<const SharedMemory> shared_gradients = nullptr;

  DType GradientsAs(DType wire) const {
    return unconverted ? DType::kF32 : HeldAs(wire);
  }

  TensorKind KindOf(size_t tensor) const {
    return kinds.empty() ? TensorKind::kTrained : kinds[tensor];
  }
  bool IsPushed(size_t tensor) const {
    return KindOf(tensor) != TensorKind::kFrozen;
  }
  // What a tensor is pushed as by a job of that wire format. What a value that
  // takes another's place lacked, nobody would make good.
  DType PushedAs(size_t tensor, DType wire) const {
    return KindOf(tensor) == TensorKind::kTrained ? wire : HeldAs(wire);
  }
};

struct PushResult {
  uint32_t blocks = 0;
  uint32_t blocks_refused = 0;
  uint64_t bytes = 0;                                    // Payload.
  std::optional<double> gradient_square = std::nullopt;  // Of TakenPush.
};

// Gradients that the client has converted, by block; they stay until the next
// push of the block.
using ConvertedBlocks = absl::flat_hash_map<uint32_t, std::vector<char>>;

struct ParameterClientOptions {
  uint64_t incarnation = 0;
  DType wire = DType::kF32;  // The job's wire format.
  absl::Duration lease;      // Three without progress end a wait.
  uint64_t run = 0;          // Names the job to the servers.
  Dial dial = DialPlainly;
  // Asked ten times a second while servers are waited for: no longer, then.
  // A stream that breaks then is broken for good.
  std::function<bool()> stopped = [] { return false; };
  // A stream that broke was dialled again. From any thread.
  std::function<void()> redialled = [] {};
  // The server of a Rewire with `fill` has taken the weights. From any
  // thread.
  std::function<void(v1::ShardFilled filled)> filled =
      [](const v1::ShardFilled&) {};
  // Memory is shared with servers of this machine that offer it.
  bool share_memory = true;
};

// One worker's links to the servers of a job's parameters: one to each shard's
// primary, for a whole assignment. A link that breaks is dialled again, be it
// to another server, and whoever waits notices nothing but the time; the other
// links do not notice at all.
//
// Thread-compatible: one thread uses it; what the servers send arrives on
// others, and EndPulls() and Abort() may be called from any. Errors: ABORTED,
// the incarnation has been fenced; UNAVAILABLE, a server is gone or does not
// answer; anything else is what a server refused. Once a stream is broken for
// good every call fails with its status.
class ParameterClient {
 public:
  using Options = ParameterClientOptions;

  // Opens the streams. Servers that cannot be reached yet, because DNS does not
  // know their names say, are waited for first, three quarters of a lease in
  // all: after a whole one the coordinator calls a worker stuck. Streams to
  // those that cannot be reached then are broken for good, with gRPC's reason.
  // INVALID_ARGUMENT if the shards' blocks do not cover `arrays` exactly.
  // REQUIRES: a gradient that is pushed has as many elements of
  // GradientsAs(wire) as its parameter has, and is aligned as they are.
  static absl::StatusOr<std::unique_ptr<ParameterClient>> Connect(
      const v1::BeginJob& begin, TensorArrays arrays, const Options& options);

  // Writes all parameters to the servers as starting values.
  absl::Status SetAll();

  // Reads all parameters, as they are after `closing` or at `snapshot`.
  // UNAVAILABLE also when a server has parked the pull for a lease: ask again.
  // CANCELLED after EndPulls().
  // With `keep` the servers remember what they sent, for a compensated push.
  // on_tensor as in ExchangeState::AwaitPull.
  absl::StatusOr<PullResult> Pull(
      int64_t closing, bool keep = false,
      const std::function<void(size_t)>& on_tensor = nullptr);
  absl::StatusOr<PullResult> PullSnapshot(int64_t snapshot);

  // Weights that FinishPush() has asked for and that may never be wanted. The
  // arrays keep what they have until AwaitAhead(), which waits as Pull() does;
  // or DeliverAhead(), from any thread, after which they hold some of the one
  // and some of the other until AwaitAhead(); or another pull begins.
  // DropAhead(): they were not wanted.
  void DeliverAhead(std::function<void(size_t)> on_tensor) {
    state_.DeliverPull(std::move(on_tensor));
  }
  void DropAhead() { state_.DropPull(); }
  absl::StatusOr<PullResult> AwaitAhead(
      const std::function<void(size_t)>& on_tensor = nullptr);
  // What was pulled last are the weights of a grant with that base.
  void set_base_version(int64_t version) { base_version_ = version; }

  // A push in three steps, so that tensors are on their way as soon as their
  // gradients are final. A gradient must stay as it is until FinishPush() has
  // returned. `header` says all but block and format. `taken`: as
  // ExchangeState::WhenTaken(). `ahead`: the weights after that closing are
  // asked for behind the push, while nobody knows that it was taken.
  // REQUIRES: every tensor that has one is pushed once between the two; for the
  // others PushTensors() does nothing.
  void BeginPush(const v1::PushBlock& header);
  // Those of [first, end), the last first, as a backward pass goes.
  void PushTensors(size_t first, size_t end);
  absl::StatusOr<PushResult> FinishPush(
      const std::function<void(const PushResult&)>& taken = nullptr,
      std::optional<int64_t> ahead = std::nullopt);

  // Ends the pull that is waited for, and all later ones. A push in hand still
  // finishes.
  void EndPulls() {
    state_.EndPulls(absl::CancelledError("the worker is to leave its job"));
  }

  // Ends every wait, with CANCELLED: nobody knows then what the servers took.
  void Abort() {
    state_.Broken(absl::CancelledError("the worker was told to go at once"));
  }

  // A shard has another server, which is dialled instead, and filled with the
  // weights that were pulled last if that is asked for. From any thread.
  // Nothing happens for what is known, or for a shard without blocks.
  void Rewire(const v1::Rewire& rewire);

  size_t tensors() const { return pieces_.size(); }  // Of the model.

  // Whether a stream has ended for good, so that every further call fails.
  bool broken() { return state_.broken(); }
  // Whether a server is waited for just now.
  bool waiting() { return state_.waiting(); }

 private:
  using Exchange = ParameterLink::Exchange;

  // Where one block of a tensor goes.
  struct Piece {
    size_t server;
    uint32_t block;
    size_t place;  // Among the server's blocks.
    int64_t offset;
    int64_t size;
  };

  ParameterClient(TensorArrays arrays, const Options& options);
  absl::Status AddBlock(size_t server, size_t place, const v1::Block& block);
  absl::Status CheckCovered() const;
  void AwaitServers();
  void TellFilled(size_t shard, uint64_t epoch) const;
  // That write the shard's weights from the arrays.
  std::vector<OutgoingFrame> WeightsOf(size_t shard) const;
  uint64_t BytesOf(size_t shard) const;
  // At all servers, an exchange that the state has begun.
  void BeginAtAll(Exchange kind, uint64_t number);
  // Counts the block as pushed; its frame.
  OutgoingFrame PushOf(size_t tensor, const Piece& piece);
  absl::StatusOr<PullResult> RunPull(
      v1::Pull pull, const std::function<void(size_t)>& on_tensor = nullptr);
  void SendPull(v1::Pull pull, uint64_t request);

  const TensorArrays arrays_;
  const Options options_;
  std::vector<std::vector<Piece>> pieces_;  // By tensor.
  v1::PushBlock push_;
  PushResult pushed_;
  const std::shared_ptr<ErrorFeedback> feedback_;
  const std::shared_ptr<ConvertedBlocks> converted_;
  std::atomic<int64_t> base_version_ = 0;
  bool whole_ = false;  // All has been pulled once, what is frozen too.
  ExchangeState state_;
  // Last: their reactions use everything above. Null: hosts nothing.
  std::vector<std::unique_ptr<ParameterLink>> links_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PARAMETER_CLIENT_H_
