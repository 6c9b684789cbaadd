#ifndef PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
#define PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/security.h"
#include "common/status.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/response_stream.h"
#include "services/cli/admin/unary_call.h"
#include "services/cli/admin/waker.h"

namespace paceline {

// The methods, as Call() takes them: &JobsApi::GetJob.
using JobsApi = v1::JobService::StubInterface::async_interface;
using ClusterApi = v1::ClusterService::StubInterface::async_interface;

// The two services of a coordinator, for one command. Every call has a
// deadline; what is UNAVAILABLE is tried again within it, with growing pauses,
// so requests that change anything carry a request id. Used by one thread.
class AdminClient {
 public:
  // `note` is told, once in an outage, what is waited for. Fails where the
  // settings make no channel: INVALID_ARGUMENT without an address, or for
  // plaintext to another machine, and the errors of MakeClientSecurity().
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      Connection connection, std::shared_ptr<Waker> waker,
      std::function<void(absl::string_view)> note);

  // The answer, or the server's error with its details. UNAVAILABLE and
  // DEADLINE_EXCEEDED name the address; CANCELLED: interrupted.
  template <class Api, class Request, class Response>
  absl::StatusOr<Response> Call(void (Api::*method)(grpc::ClientContext*,
                                                    const Request*, Response*,
                                                    grpc::ClientUnaryReactor*),
                                const std::type_identity_t<Request>& request) {
    Response response;
    PACELINE_RETURN_IF_ERROR(Perform(
        [&](grpc::ClientContext* context, grpc::ClientUnaryReactor* reactor) {
          // A failed attempt may have left something there.
          response.Clear();
          (ApiOf(static_cast<Api*>(nullptr))->*method)(context, &request,
                                                       &response, reactor);
          reactor->StartCall();
        }));
    return response;
  }

  // Whether the last Call() was tried more than once: what deletes may then be
  // NOT_FOUND because an earlier try has done it.
  bool repeated() const { return repeated_; }

  using JobStream = ResponseStream<v1::WatchJobResponse>;

  // One stream; `request` must outlive it.
  std::unique_ptr<JobStream> Watch(const v1::WatchJobRequest& request,
                                   absl::Duration at_most);

  // What a call or a stream ended with, for people.
  absl::Status Explain(const grpc::Status& status) const;

  // Dials anew at once, where the old channel would wait. Streams that are open
  // keep their connection.
  void Reconnect();

  // A pause of a retry loop; CANCELLED: interrupted.
  absl::Status Pause(absl::Duration pause);

  void Note(absl::string_view text) { note_(text); }
  const Connection& connection() const { return connection_; }

 private:
  using Start =
      std::function<void(grpc::ClientContext*, grpc::ClientUnaryReactor*)>;

  AdminClient(Connection connection, ClientSecurity security,
              std::shared_ptr<Waker> waker,
              std::function<void(absl::string_view)> note)
      : connection_(std::move(connection)),
        security_(std::move(security)),
        waker_(std::move(waker)),
        note_(std::move(note)) {}

  absl::Status Perform(const Start& start);
  absl::Status Attempt(const Start& start, absl::Time deadline);

  JobsApi* ApiOf(JobsApi*) { return jobs_->async(); }
  ClusterApi* ApiOf(ClusterApi*) { return cluster_->async(); }

  const Connection connection_;
  const ClientSecurity security_;
  const std::shared_ptr<Waker> waker_;
  const std::function<void(absl::string_view)> note_;
  std::shared_ptr<grpc::Channel> channel_;
  bool repeated_ = false;
  std::unique_ptr<v1::JobService::StubInterface> jobs_;
  std::unique_ptr<v1::ClusterService::StubInterface> cluster_;
};

// How long to wait before try number `attempt` (from 1), the first repetition
// being number 1: 0.1 s, then growing by half to at most 2 s.
absl::Duration RetryPause(int attempt);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
