#include "common/rpc/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paceline {
namespace {

constexpr int kMiB = 1 << 20;

// Larger than a block with its header, far below gRPC's default of 4 MiB.
constexpr int kMaxFrameBytes = 2 * kMiB;

using Argument = std::pair<const char*, int>;

// Large frames and reads and a fixed window: with gRPC's defaults a block is
// cut into dozens of slices and each costs a pass through the flow control.
std::vector<Argument> Arguments(ChannelProfile profile) {
  if (profile == ChannelProfile::kControl) return {};
  return {
      {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 16 * kMiB - 1},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 * kMiB},
      {GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 16 * kMiB},
      {GRPC_ARG_HTTP2_BDP_PROBE, 0},
      {GRPC_ARG_TCP_READ_CHUNK_SIZE, kMiB},
      {GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, kMiB},
      {GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, 4 * kMiB},
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxFrameBytes},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, kMaxFrameBytes},
  };
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           ChannelProfile profile,
                                           absl::Duration liveness) {
  grpc::ChannelArguments arguments;
  for (const auto& [name, value] : Arguments(profile)) {
    arguments.SetInt(name, value);
  }
  const int ping_ms = static_cast<int>(absl::ToInt64Milliseconds(liveness / 2));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_ms);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Processes on one machine must not share a connection to different peers
  // that reuse an address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

absl::StatusOr<ListeningServer> Listen(const std::string& address,
                                       ChannelProfile profile,
                                       grpc::Service* service) {
  grpc::ServerBuilder builder;
  for (const auto& [name, value] : Arguments(profile)) {
    builder.AddChannelArgument(name, value);
  }
  // Two servers on one port would each get half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service);
  ListeningServer listening;
  listening.server = builder.BuildAndStart();
  if (listening.server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", address,
        ": the port is in use or the address is not this machine's; choose "
        "another, or port 0 for one that is free"));
  }
  const size_t colon = address.rfind(':');
  listening.address = absl::StrCat(address.substr(0, colon), ":", port);
  return listening;
}

}  // namespace paceline
