#ifndef PACELINE_SERVICES_WORKER_RECEIVED_FRAME_H_
#define PACELINE_SERVICES_WORKER_RECEIVED_FRAME_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "services/worker/exchange_state.h"

namespace paceline {

// Hands one frame of server `server` on to the exchange. An error is the
// server's and ends its stream: those of DecodeFrame() and of the exchange,
// INVALID_ARGUMENT for a frame that is not for a worker.
absl::Status TakeReceivedFrame(ExchangeState& state, size_t server,
                               const grpc::ByteBuffer& message);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_RECEIVED_FRAME_H_
