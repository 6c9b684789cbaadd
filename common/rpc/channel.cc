#include "common/rpc/channel.h"

#include <google/protobuf/generated_message_reflection.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/grpc_library.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/client_interceptor.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/connections/door.h"
#include "common/connections/tcp_listener.h"
#include "common/rpc/message_bytes.h"
#include "common/rpc/rpc_metrics.h"
#include "common/security/bearer_token.h"
#include "common/security/security.h"
#include "common/status.h"
#include "protos/grpc/health/v1/health.pb.h"

namespace paceline {
namespace {

using Plugin = std::unique_ptr<grpc::ServerBuilderPlugin>;

// Adds or leaves out grpc.reflection.v1alpha.ServerReflection, server by
// server: what gRPC itself offers switches it for the whole process.
class Reflection : public grpc::ServerBuilderOption {
 public:
  explicit Reflection(bool enabled) : enabled_(enabled) {}

  void UpdateArguments(grpc::ChannelArguments*) override {}

  void UpdatePlugins(std::vector<Plugin>* plugins) override {
    // Linking the library has put one there already, for every server.
    Plugin wanted =
        std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
    std::erase_if(*plugins, [&wanted](const Plugin& plugin) {
      return plugin->name() == wanted->name();
    });
    if (!enabled_) return;
    plugins->push_back(std::move(wanted));
    // It names the health service too, which gRPC answers without a descriptor.
    google::protobuf::LinkMessageReflection<
        ::grpc::health::v1::HealthCheckRequest>();
  }

 private:
  const bool enabled_;
};

constexpr int kMiB = 1 << 20;

constexpr int kMaxMetadataBytes = 8 << 10;

// What a worker may send ahead of what its server has summed up, and a server
// ahead of what its worker has copied.
constexpr int kServerWindow = 8 * kMiB;
constexpr int kClientWindow = 64 * kMiB;

// The least that gRPC takes for a read, and the first. It reads twice as much
// whenever a read was full, up to kMaxReadBytes. Who is dialled is trusted;
// whoever comes in must have sent much before much is held for it.
constexpr int kServerReadBytes = 64 << 10;
constexpr int kClientReadBytes = kMiB;
constexpr int kMaxReadBytes = 4 * kMiB;

using Argument = std::pair<const char*, int>;

// Large frames and reads and a fixed window: with gRPC's defaults a block is
// cut into dozens of slices and each costs a pass through the flow control.
std::vector<Argument> Arguments(ChannelProfile profile, int bulk_window,
                                int least_read) {
  if (profile == ChannelProfile::kControl) return {};
  return {
      {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 16 * kMiB - 1},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, bulk_window},
      {GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 16 * kMiB},
      {GRPC_ARG_HTTP2_BDP_PROBE, 0},
      {GRPC_ARG_TCP_READ_CHUNK_SIZE, least_read},
      {GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, least_read},
      {GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadBytes},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, kMaxFrameBytes},
  };
}

// One whose calls all fail, because a channel has no other way to say it.
std::shared_ptr<grpc::Channel> RefusingChannel(const std::string& address,
                                               const absl::Status& why) {
  static const grpc::internal::GrpcLibraryInitializer kLibrary;
  static_cast<void>(kLibrary);
  grpc_init();  // For the call of C; the channel then counts for itself.
  auto channel = grpc::CreateChannelInternal(
      "",
      grpc_lame_client_channel_create(address.c_str(),
                                      GRPC_STATUS_FAILED_PRECONDITION,
                                      std::string(why.message()).c_str()),
      {});
  grpc_shutdown();
  return channel;
}

void AddLimits(ChannelProfile profile, const ListenOptions& options,
               grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(
      profile == ChannelProfile::kBulk ? kMaxFrameBytes : kMaxControlBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             options.max_concurrent_streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // A few KiB that decompress to gigabytes pass every other limit. None of our
  // clients compresses.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  // Windows that grow with the peer's speed are memory that it is given.
  if (profile == ChannelProfile::kControl) {
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  }
  // Who connects and says nothing is cut off.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

// An honest worker may have a window full waiting and a frame besides.
ConnectionBudget::Limits BudgetOf(ChannelProfile profile,
                                  const ListenOptions& options) {
  ConnectionBudget::Limits limits;
  if (profile == ChannelProfile::kBulk) {
    limits.known.honest = kServerWindow + kMaxFrameBytes;
    limits.known.each = 2 * limits.known.honest;
    limits.known.in_all = 256 * kMiB;
  }
  if (options.known_bytes > 0) limits.known.in_all = options.known_bytes;
  return FitDescriptors(limits);
}

// Hands connections to `acceptor` for as long as the door is open.
std::unique_ptr<Door> OpenDoor(
    TcpListener listener, ChannelProfile profile, const ListenOptions& options,
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor) {
  Door::Options door;
  door.limits = BudgetOf(profile, options);
  door.accounts = options.accounts;
  if (ConnectionReport* const report = options.connections) {
    door.on_counts = [report](const Door::Counts& counts) {
      report->SetCounts(counts);
    };
    door.on_cut = [report](const std::string& peer,
                           const ConnectionBudget::Cut& cut) {
      report->Cut(peer, cut);
    };
  }
  return std::make_unique<Door>(
      std::move(listener), std::move(door),
      [acceptor = std::shared_ptr(std::move(acceptor))](UniqueFd connection) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            parameters;
        parameters.fd = connection.Release();
        acceptor->HandleNewConnection(&parameters);
      });
}

absl::Status CannotListen(const std::string& address,
                          absl::string_view reason) {
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on ", address,
      ": the port is in use or the address is not this machine's; choose "
      "another, or port 0 for one that is free (",
      reason, ")"));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           ChannelProfile profile,
                                           absl::Duration liveness,
                                           const ClientSecurity& security) {
  const absl::Status allowed = CheckDialAddress(address, security);
  if (!allowed.ok()) return RefusingChannel(address, allowed);
  grpc::ChannelArguments arguments;
  for (const auto& [name, value] :
       Arguments(profile, kClientWindow, kClientReadBytes)) {
    arguments.SetInt(name, value);
  }
  arguments.SetMaxReceiveMessageSize(profile == ChannelProfile::kBulk
                                         ? kMaxFrameBytes
                                         : kMaxControlAnswerBytes);
  // An answer may be behind much else; a question costs nothing. What is dead
  // is found out in time to be mended before the liveness is over.
  const auto part_of_liveness = [liveness](double part) {
    return static_cast<int>(absl::ToInt64Milliseconds(part * liveness));
  };
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, part_of_liveness(0.25));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, part_of_liveness(0.5));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Processes on one machine must not share a connection to different peers
  // that reuse an address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!security.server_name.empty()) {
    arguments.SetSslTargetNameOverride(security.server_name);
  }
  const auto credentials = MakeChannelCredentials(security);
  if (security.tls != nullptr || security.token == nullptr) {
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(PlaintextToken(security.token));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, credentials, arguments, std::move(interceptors));
}

absl::StatusOr<ListeningServer> Listen(
    const std::string& address, ChannelProfile profile,
    const ServerSecurity& security, const std::vector<grpc::Service*>& services,
    const ListenOptions& options) {
  PACELINE_RETURN_IF_ERROR(CheckListenAddress(address, security));
  absl::StatusOr<TcpListener> listener = ListenOnTcp(address);
  if (absl::IsUnavailable(listener.status())) {
    return CannotListen(address, listener.status().message());
  }
  PACELINE_RETURN_IF_ERROR(listener.status());
  // For the whole process, and once, because it is not thread-safe.
  [[maybe_unused]] static const bool kHealth = [] {
    grpc::EnableDefaultHealthCheckService(true);
    return true;
  }();
  grpc::ServerBuilder builder;
  for (const auto& [name, value] :
       Arguments(profile, kServerWindow, kServerReadBytes)) {
    builder.AddChannelArgument(name, value);
  }
  AddLimits(profile, options, builder);
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      MakeServerCredentials(security));
  for (grpc::Service* const service : services) {
    builder.RegisterService(service);
  }
  if (options.otherwise != nullptr) {
    builder.RegisterCallbackGenericService(options.otherwise);
  }
  builder.SetOption(std::make_unique<Reflection>(options.reflection));
  if (options.metrics != nullptr) {
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(options.metrics->MakeInterceptors());
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }
  ListeningServer listening;
  listening.security = security;
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return CannotListen(address, "gRPC does not start");
  const size_t colon = address.rfind(':');
  listening.address =
      absl::StrCat(address.substr(0, colon), ":", listener->port);
  listening.server = std::make_unique<RpcServer>(
      std::move(server),
      OpenDoor(*std::move(listener), profile, options, std::move(acceptor)));
  return listening;
}

}  // namespace paceline
