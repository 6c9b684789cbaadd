#ifndef PACELINE_SERVICES_PARAMETER_SERVER_PARAMETER_SERVICE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_PARAMETER_SERVICE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "protos/paceline/v1/parameters.grpc.pb.h"
#include "services/parameter_server/current_streams.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// Parameters on the wire: turns frames into calls of the shard. Decides
// nothing. The raw method hands out the transport's bytes, so that payloads are
// applied from where they were received.
class ParameterService : public v1::Parameters::WithRawCallbackMethod_Exchange<
                             v1::Parameters::Service> {
 public:
  // All outlive the service's server. Without a guard everybody may call;
  // without lanes no memory is shared with workers of this machine.
  ParameterService(Shard* shard, const Clock* clock, ServerMetrics* metrics,
                   StreamRegistry* streams, CallGuard* guard = nullptr,
                   LaneDoor* lanes = nullptr)
      : shard_(shard),
        clock_(clock),
        metrics_(metrics),
        streams_(streams),
        guard_(guard),
        lanes_(lanes),
        host_(lanes == nullptr ? "" : HostKey()) {}

  // How long a pull may wait at the server; known once the coordinator has
  // told the lease.
  void SetPullTimeout(absl::Duration timeout) {
    pull_timeout_ms_ = absl::ToInt64Milliseconds(timeout);
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Exchange(
      grpc::CallbackServerContext* context) override;

 private:
  friend class ParameterStream;

  absl::Time PullDeadline() const {
    return clock_->Now() + absl::Milliseconds(pull_timeout_ms_.load());
  }

  // Who calls; nobody where there is no guard.
  absl::StatusOr<Caller> Admit(const grpc::ServerContextBase& context);
  // Counts the stream of whoever calls.
  absl::StatusOr<StreamTicket> OpenStream(const Caller& caller);

  Shard* const shard_;
  const Clock* const clock_;
  ServerMetrics* const metrics_;
  StreamRegistry* const streams_;
  CallGuard* const guard_;
  LaneDoor* const lanes_;
  const std::string host_;  // Empty: shares with nobody.
  CurrentStreams current_;
  std::atomic<int64_t> pull_timeout_ms_ = 10'000;
  std::atomic<uint64_t> next_stream_ = 1;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_PARAMETER_SERVICE_H_
