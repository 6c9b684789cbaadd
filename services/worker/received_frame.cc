#include "services/worker/received_frame.h"

#include "absl/time/time.h"
#include "common/rpc/frame_codec.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {

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
          server, header.pull_end().request(),
          FromCode(header.pull_end().code(), header.pull_end().message()),
          absl::Microseconds(header.pull_end().parked_us()));
      return absl::OkStatus();
    case v1::Frame::kPushAck:
      state.PushTaken(server, header.push_ack().iteration(),
                      header.push_ack().refused_size());
      return absl::OkStatus();
    case v1::Frame::kSetDone:
      state.SetTaken(server);
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError("that frame is not for a worker");
  }
}

}  // namespace paceline
