#ifndef PACELINE_COMMON_RPC_FRAME_BATCH_H_
#define PACELINE_COMMON_RPC_FRAME_BATCH_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/rpc/frame_codec.h"
#include "protos/paceline/v1/parameters.pb.h"

namespace paceline {

// Frames that travel as one message. A message costs each end tens of
// microseconds whatever is in it, and models have many small tensors: the
// first frame of a message may be of any size, and small ones follow it as its
// `more`. Their order stays. Thread-compatible.
class FrameBatch {
 public:
  // A peer that gets more at once begins later with the first of it.
  static constexpr size_t kMostCarried = size_t{256} << 10;
  static constexpr size_t kMost = 256;  // Frames.
  // It makes no difference to what it follows.
  static constexpr size_t kTiny = size_t{4} << 10;

  // Whether a frame may follow those that are there, which otherwise are to be
  // taken first. `payload`: the bytes that it has in the message; `carries`:
  // those that it gives the peer to work on, there or in memory that both
  // share.
  bool Takes(size_t payload, size_t carries) const {
    if (!head_.has_value()) return true;
    return payload <= kMostFollowing && frames_ < kMost &&
           following_ + payload <= kMostInAll &&
           (carries_ < kMostCarried || carries <= kTiny);
  }

  // `carries` may be WriteQueue::kUrgent, too.  REQUIRES: it takes the payload;
  // `frame` has none of its own, and no `more`.
  void Add(v1::Frame frame, grpc::Slice payload, size_t carries);

  bool empty() const { return !head_.has_value(); }
  // Of all together.
  size_t carries() const { return carries_; }

  // Those that were added; the batch is empty then.  REQUIRES: it is not.
  grpc::ByteBuffer Take();

 private:
  // Payloads that follow are copied twice.
  static constexpr size_t kMostFollowing = size_t{16} << 10;
  static constexpr size_t kMostInAll = size_t{64} << 10;

  std::optional<v1::Frame> head_;
  grpc::Slice payload_;  // Of the first.
  size_t frames_ = 0;
  size_t following_ = 0;  // Bytes of the others' payloads.
  size_t carries_ = 0;
};

// Calls `take` with each frame of the message in their order, until one is not
// OK, and returns that. INVALID_ARGUMENT: it is no such message. What a message
// would take that has more frames than a batch is not allocated.
absl::Status TakeFrames(const grpc::ByteBuffer& message,
                        absl::FunctionRef<absl::Status(ReceivedFrame&)> take);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_FRAME_BATCH_H_
