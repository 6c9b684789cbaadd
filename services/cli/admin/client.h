#ifndef PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
#define PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rpc/coordinator_addresses.h"
#include "common/security/security.h"
#include "common/status.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/interruption.h"

namespace paceline {

// The methods, as Call() takes them: &JobsApi::GetJob.
using JobsApi = v1::JobService::StubInterface;
using ClusterApi = v1::ClusterService::StubInterface;
using CoordinatorApi = v1::CoordinatorService::StubInterface;
template <class Api, class Request, class Response>
using UnaryMethod = grpc::Status (Api::*)(grpc::ClientContext*, const Request&,
                                          Response*);

// The services of a coordinator, for one command. Every call has a deadline;
// what is UNAVAILABLE is tried again within it, with growing pauses, at the
// next of its addresses, so requests that change anything carry a request id.
// Missing or wrong credentials, which gRPC calls UNAVAILABLE too, are told at
// once. Used by one thread.
class AdminClient {
 public:
  // `note` is told, once in an outage, what is waited for. Fails where the
  // settings make no channel: INVALID_ARGUMENT without an address, or for
  // plaintext to another machine, and the errors of MakeClientSecurity().
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      Connection connection, std::shared_ptr<Interruption> interruption,
      std::function<void(absl::string_view)> note);

  // The answer, or the server's error with its details. UNAVAILABLE and
  // DEADLINE_EXCEEDED name the address; CANCELLED: interrupted.
  template <class Api, class Request, class Response>
  absl::StatusOr<Response> Call(UnaryMethod<Api, Request, Response> method,
                                const std::type_identity_t<Request>& request) {
    Response response;
    PACELINE_RETURN_IF_ERROR(Perform([&](grpc::ClientContext* context) {
      // A failed attempt may have left something there.
      response.Clear();
      Api& api = ApiOf(static_cast<Api*>(nullptr));
      return (api.*method)(context, request, &response);
    }));
    return response;
  }

  // Whether the last Call() was tried more than once: what deletes may then be
  // NOT_FOUND because an earlier try has done it.
  bool repeated() const { return repeated_; }

  // A stream of responses, each of which is read from the network when it is
  // asked for. `context` must outlive it.
  using JobStream = grpc::ClientReaderInterface<v1::WatchJobResponse>;
  std::unique_ptr<JobStream> Watch(grpc::ClientContext* context,
                                   const v1::WatchJobRequest& request);

  // What a call or a stream ended with, for people.
  absl::Status Explain(const grpc::Status& status) const;

  // After a call or stream that was UNAVAILABLE: OK, or that it is a matter of
  // credentials, with what ProbeConnection() says. May take two seconds.
  absl::Status CheckCredentials(const absl::Status& outage,
                                absl::Time deadline) const;

  // Dials the next address at once, where the old channel would wait. Streams
  // that are open keep their connection.
  void Reconnect();

  // A pause of a retry loop; CANCELLED: interrupted.
  absl::Status Pause(absl::Duration pause);

  void Note(absl::string_view text) { note_(text); }
  Interruption& interruption() { return *interruption_; }
  const Connection& connection() const { return connection_; }

 private:
  using Attempt = std::function<grpc::Status(grpc::ClientContext*)>;

  AdminClient(Connection connection, ClientSecurity security,
              std::shared_ptr<Interruption> interruption,
              std::function<void(absl::string_view)> note)
      : connection_(std::move(connection)),
        security_(std::move(security)),
        addresses_(connection_.address),
        interruption_(std::move(interruption)),
        note_(std::move(note)) {}

  // Until one attempt says something else than UNAVAILABLE.
  absl::Status Perform(const Attempt& attempt);
  absl::Status Try(const Attempt& attempt, absl::Time deadline);

  JobsApi& ApiOf(JobsApi*) { return *jobs_; }
  ClusterApi& ApiOf(ClusterApi*) { return *cluster_; }
  CoordinatorApi& ApiOf(CoordinatorApi*) { return *coordinator_; }

  const Connection connection_;
  const ClientSecurity security_;
  CoordinatorAddresses addresses_;
  std::string address_;  // That is dialled now.
  const std::shared_ptr<Interruption> interruption_;
  const std::function<void(absl::string_view)> note_;
  std::shared_ptr<grpc::Channel> channel_;
  bool repeated_ = false;
  std::unique_ptr<v1::JobService::StubInterface> jobs_;
  std::unique_ptr<v1::ClusterService::StubInterface> cluster_;
  std::unique_ptr<v1::CoordinatorService::StubInterface> coordinator_;
};

// How long to wait before try number `attempt` (from 1), the first repetition
// being number 1: 0.1 s, then growing by half to at most 2 s.
absl::Duration RetryPause(int attempt);

// The resources of one page of a list.
inline auto* ResourcesOf(v1::ListJobsResponse& page) {
  return page.mutable_jobs();
}
inline auto* ResourcesOf(v1::ListDecisionsResponse& page) {
  return page.mutable_decisions();
}
inline auto* ResourcesOf(v1::ListAccuracyPointsResponse& page) {
  return page.mutable_accuracy_points();
}
inline auto* ResourcesOf(v1::ListIterationsResponse& page) {
  return page.mutable_iterations();
}
inline auto* ResourcesOf(v1::ListCheckpointsResponse& page) {
  return page.mutable_checkpoints();
}
inline auto* ResourcesOf(v1::ListWorkersResponse& page) {
  return page.mutable_workers();
}
inline auto* ResourcesOf(v1::ListServersResponse& page) {
  return page.mutable_servers();
}
inline auto* ResourcesOf(v1::ListAuditRecordsResponse& page) {
  return page.mutable_audit_records();
}

// All pages of a list as one response without a page token, at most `limit`
// resources (0: all).
template <class Api, class Request, class Response>
absl::StatusOr<Response> ListAll(AdminClient& client,
                                 UnaryMethod<Api, Request, Response> method,
                                 Request request, int64_t limit) {
  constexpr int64_t kPage = 500;
  Response all;
  auto& listed = *ResourcesOf(all);
  for (;;) {
    const int64_t left = limit > 0 ? limit - listed.size() : kPage;
    request.set_page_size(static_cast<int32_t>(std::min(left, kPage)));
    PACELINE_ASSIGN_OR_RETURN(Response page, client.Call(method, request));
    const std::string token = page.next_page_token();
    page.clear_next_page_token();
    all.MergeFrom(page);
    // A server may give more than was asked for.
    while (limit > 0 && listed.size() > limit) listed.RemoveLast();
    if (token.empty() || (limit > 0 && listed.size() >= limit)) return all;
    // One that never ends must not fill this machine's memory.
    if (token == request.page_token()) {
      return absl::InternalError(
          "the coordinator gave one page token twice: its list has no end");
    }
    request.set_page_token(token);
  }
}

// What happens to one job, through broken connections: it resumes where it was
// with the token of the last event. Used by one thread.
class JobWatcher {
 public:
  // `client` must outlive it.
  JobWatcher(AdminClient* client, const std::string& job);
  ~JobWatcher();

  // The next event; nothing once the job has ended.
  //   NOT_FOUND          there is no such job (any more).
  //   DEADLINE_EXCEEDED  `until` has passed, which is the same in all calls.
  //   UNAVAILABLE        the coordinator was away for a whole request timeout.
  //   CANCELLED          interrupted.
  absl::StatusOr<std::optional<v1::WatchJobResponse>> Next(absl::Time until);

 private:
  bool Read(absl::Time until, v1::WatchJobResponse& response);
  // The stream has ended so: OK if another one is to be tried.
  absl::Status Recover(const grpc::Status& status, absl::Time until);

  AdminClient* const client_;
  v1::WatchJobRequest request_;
  std::optional<grpc::ClientContext> context_;  // Of the stream.
  std::unique_ptr<AdminClient::JobStream> stream_;
  // The present outage, if there is one.
  absl::Time outage_begin_ = absl::InfiniteFuture();
  int attempts_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
