#ifndef PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
#define PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/security/security.h"
#include "common/status.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/waker.h"

namespace paceline {

// A reactor whose end wakes the thread that waits for it.
template <class Reactor>
class WakingReactor : public Reactor {
 protected:
  explicit WakingReactor(std::shared_ptr<Waker> waker)
      : waker_(std::move(waker)) {}

  const std::shared_ptr<Waker> waker_;
  grpc::Status status_;  // Once it is done.
  absl::Notification done_;

 private:
  void OnDone(const grpc::Status& status) final {
    status_ = status;
    // This object may be gone as soon as it is notified.
    const std::shared_ptr<Waker> waker = waker_;
    done_.Notify();
    waker->Wake();
  }
};

// A stream of responses that one thread reads, one at a time: while it does
// not, nothing is read from the network. Used by the main thread alone.
//
// The destructor cancels what still runs and waits until gRPC has let go.
template <class Response>
class ResponseStream : public WakingReactor<grpc::ClientReadReactor<Response>> {
 public:
  // Binds the call to the reactor.
  using Open = std::function<void(grpc::ClientContext*,
                                  grpc::ClientReadReactor<Response>*)>;

  // Starts the call, which lasts until `deadline` at most.
  ResponseStream(std::shared_ptr<Waker> waker, absl::Time deadline,
                 const Open& open)
      : ResponseStream::WakingReactor(std::move(waker)) {
    context_.set_deadline(absl::ToChronoTime(deadline));
    open(&context_, this);
    // For the reads that the main thread starts; removed by the last one.
    this->AddHold();
    this->StartRead(&incoming_);
    this->StartCall();
  }

  ~ResponseStream() override {
    context_.TryCancel();
    bool resume = false;
    {
      absl::MutexLock lock(&mu_);
      cancelled_ = true;
      resume = std::exchange(has_message_, false);
    }
    // Reads until the cancelling shows.
    if (resume) this->StartRead(&incoming_);
    this->done_.WaitForNotification();
  }

  enum class Event { kMessage, kEnded, kTimeout, kInterrupted };

  // Waits for the next message, which is moved to `message`, until `until`.
  Event Next(absl::Time until, Response* message) {
    for (;;) {
      if (Take(message)) return Event::kMessage;
      if (this->done_.HasBeenNotified()) return Event::kEnded;
      if (this->waker_->signal() != 0) return Event::kInterrupted;
      if (absl::Now() >= until) return Event::kTimeout;
      this->waker_->Wait(until);
    }
  }

  // How it ended.  REQUIRES: Next() has returned kEnded.
  const grpc::Status& status() const { return this->status_; }

 private:
  bool Take(Response* message) {
    {
      absl::MutexLock lock(&mu_);
      if (!has_message_) return false;
      has_message_ = false;
      *message = std::move(incoming_);
      incoming_ = Response();
    }
    this->StartRead(&incoming_);
    return true;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return this->RemoveHold();
    bool cancelled = false;
    {
      absl::MutexLock lock(&mu_);
      cancelled = cancelled_;
      has_message_ = !cancelled;
    }
    if (cancelled) return this->StartRead(&incoming_);
    this->waker_->Wake();
  }

  grpc::ClientContext context_;
  absl::Mutex mu_;
  bool has_message_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  // gRPC's while a read is under way, and ours while `has_message_`.
  Response incoming_;
};

// Waits for the end of one call. A reactor and no std::function: gRPC lets go
// of the call before OnDone(), so that the channel dies with its owner and not
// in a reaction, which gRPC does not survive (grpc/grpc#37198).
class UnaryCall : public WakingReactor<grpc::ClientUnaryReactor> {
 public:
  explicit UnaryCall(std::shared_ptr<Waker> waker)
      : WakingReactor(std::move(waker)) {}

  // Blocks. An interruption cancels the call.
  grpc::Status Await(grpc::ClientContext& context) {
    while (!done_.HasBeenNotified()) {
      if (waker_->signal() != 0) {
        context.TryCancel();
        done_.WaitForNotification();
      } else {
        waker_->Wait(absl::InfiniteFuture());
      }
    }
    return status_;
  }
};

// The methods, as Call() takes them: &JobsApi::GetJob.
using JobsApi = v1::JobService::StubInterface::async_interface;
using ClusterApi = v1::ClusterService::StubInterface::async_interface;
template <class Api, class Request, class Response>
using UnaryMethod = void (Api::*)(grpc::ClientContext*, const Request*,
                                  Response*, grpc::ClientUnaryReactor*);

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
  absl::StatusOr<Response> Call(UnaryMethod<Api, Request, Response> method,
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

// The resources of one page of a list.
inline auto* ResourcesOf(v1::ListJobsResponse& page) {
  return page.mutable_jobs();
}
inline auto* ResourcesOf(v1::ListDecisionsResponse& page) {
  return page.mutable_decisions();
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

  // The next event; nothing once the job has ended.
  //   NOT_FOUND          there is no such job (any more).
  //   DEADLINE_EXCEEDED  `until` has passed; it may be called again.
  //   UNAVAILABLE        the coordinator was away for a whole request timeout.
  //   CANCELLED          interrupted.
  absl::StatusOr<std::optional<v1::WatchJobResponse>> Next(absl::Time until);

 private:
  // The stream has ended so: OK if another one is to be tried.
  absl::Status Recover(const grpc::Status& status, absl::Time until);

  AdminClient* const client_;
  v1::WatchJobRequest request_;
  std::unique_ptr<AdminClient::JobStream> stream_;
  // The present outage, if there is one.
  absl::Time outage_begin_ = absl::InfiniteFuture();
  int attempts_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CLIENT_H_
