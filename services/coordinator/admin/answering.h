#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_

#include <google/protobuf/empty.pb.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/grpc_status.h"
#include "common/security/call_guard.h"
#include "common/work_queue.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "services/coordinator/store/job_journal.h"

namespace paceline {

// What all calls of the admin API have in common: who calls is asked first,
// every error gets an ErrorInfo, and what changes anything, or was to, is in
// the audit record. Decisions are made on threads of their own; when too many
// wait for one, more are RESOURCE_EXHAUSTED. A call that was given up while it
// waited is not carried out: CANCELLED.
//
// Of the calls that the guard refuses only some are recorded
// (CallGuard::RecordsRefusalOf()). Thread-safe.
class Answering {
 public:
  struct Options {
    // Decisions are short, or wait for the disk.
    size_t threads = 4;
    size_t waiting_max = 1000;
  };

  // All outlive it; it outlives the server whose calls it answers.
  Answering(CallGuard* guard, JobJournal* audit)
      : Answering(guard, audit, Options()) {}
  Answering(CallGuard* guard, JobJournal* audit, const Options& options);

  // Answers `request` of `method`, "/paceline.v1.JobService/GetJob", about
  // `resource` (CalledMethod), with what `decide` (of a Caller) gives: a
  // StatusOr of the response. It is called later, when the handler has
  // returned; request and response are there until the call is finished.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context,
                                 absl::string_view method,
                                 const google::protobuf::MessageLite& request,
                                 const std::string& resource,
                                 Response* response, Decide decide) {
    return ReadLater(
        context, method, request, resource, response,
        [decide = std::move(decide)](const Caller& caller, const auto& finish) {
          finish(decide(caller));
        });
  }

  // As Read(), where the answer comes from somebody else: `ask` is called with
  // the Caller and with what takes the StatusOr of the response, which is to be
  // called once, on any thread.
  template <typename Response, typename Ask>
  grpc::ServerUnaryReactor* ReadLater(
      grpc::CallbackServerContext* context, absl::string_view method,
      const google::protobuf::MessageLite& request, const std::string& resource,
      Response* response, Ask ask) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    Caller caller;
    const absl::Status admitted =
        Admit(*context, method, request, resource, caller);
    if (!admitted.ok()) {
      Finish(reactor, admitted);
      return reactor;
    }
    const absl::Status submitted =
        Submit([=, caller = std::move(caller), ask = std::move(ask)] {
          if (context->IsCancelled()) return Finish(reactor, GivenUp());
          ask(caller, [reactor, response](absl::StatusOr<Response> answer) {
            Finish(reactor, Take(std::move(answer), response));
          });
        });
    if (!submitted.ok()) Finish(reactor, submitted);
    return reactor;
  }

  // Answers a request to change `resource`, and records it. `decide` gives a
  // StatusOr of the response, or a Status where that is empty.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Change(grpc::CallbackServerContext* context,
                                   absl::string_view method,
                                   const google::protobuf::MessageLite& request,
                                   const std::string& resource,
                                   Response* response, Decide decide) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    Caller caller;
    const absl::Status admitted =
        Admit(*context, method, request, resource, caller);
    const v1::AuditRecord record = RecordOf(caller, method, resource);
    if (!admitted.ok()) {
      RecordRefusal(caller, record, admitted);
      Finish(reactor, admitted);
      return reactor;
    }
    const absl::Status submitted =
        Submit([=, this, decide = std::move(decide)] {
          const absl::Status status = context->IsCancelled()
                                          ? GivenUp()
                                          : Take(decide(caller), response);
          Record(record, status);
          Finish(reactor, status);
        });
    if (!submitted.ok()) {
      Record(record, submitted);
      Finish(reactor, submitted);
    }
    return reactor;
  }

  // Runs `task` on a thread for decisions. RESOURCE_EXHAUSTED, without running
  // it: too many wait for one.
  absl::Status Submit(std::function<void()> task);

  // Asks the guard, and counts the message in either case: it is here.
  absl::Status Admit(const grpc::ServerContextBase& context,
                     absl::string_view method,
                     const google::protobuf::MessageLite& request,
                     const std::string& resource, Caller& caller);

  CallGuard& guard() { return *guard_; }

  // With an ErrorInfo, if it is an error and has none.
  static absl::Status Explained(const absl::Status& status);

 private:
  template <typename Response>
  static absl::Status Take(absl::StatusOr<Response> decided,
                           Response* response) {
    if (!decided.ok()) return decided.status();
    *response = *std::move(decided);
    return absl::OkStatus();
  }
  static absl::Status Take(const absl::Status& decided,
                           google::protobuf::Empty* /*response*/) {
    return decided;
  }

  static void Finish(grpc::ServerUnaryReactor* reactor,
                     const absl::Status& status) {
    reactor->Finish(ToGrpc(Explained(status)));
  }

  // What becomes of a call whose caller does not wait for the answer any more.
  static absl::Status GivenUp();

  // Who does what; how it ended is for Record().
  static v1::AuditRecord RecordOf(const Caller& caller,
                                  absl::string_view method,
                                  const std::string& resource);
  void Record(v1::AuditRecord record, const absl::Status& status);
  // Records a call that the guard refused, as far as there is room for it.
  void RecordRefusal(const Caller& caller, const v1::AuditRecord& record,
                     const absl::Status& status);

  CallGuard* const guard_;
  JobJournal* const audit_;

  WorkQueue queue_;  // Last: its tasks use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
