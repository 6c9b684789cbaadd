#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_

#include <google/protobuf/empty.pb.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/grpc_status.h"
#include "common/security/call_guard.h"
#include "common/status_details.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "services/coordinator/admin/decision_pool.h"
#include "services/coordinator/store/job_journal.h"

namespace paceline {

// What all calls of the admin API have in common: who calls is asked first,
// every error gets an ErrorInfo, and what changes anything, or was to, is in
// the audit record. Decisions are made on threads of their own; when too many
// wait for one, more are RESOURCE_EXHAUSTED. Thread-safe.
class Answering {
 public:
  // Both outlive it; it outlives the server whose calls it answers.
  Answering(CallGuard* guard, JobJournal* audit);

  // Answers one call of `method`, "/paceline.v1.JobService/GetJob", with what
  // `decide` (of a Caller) gives: a StatusOr of the response, or a Status where
  // that is empty. It is called later, when the handler has returned; request
  // and response are there until the call is finished.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context,
                                 absl::string_view method, Response* response,
                                 Decide decide) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    absl::StatusOr<Caller> caller = guard_->Admit(*context, method);
    if (!caller.ok()) {
      Finish(reactor, caller.status());
      return reactor;
    }
    RunLater(reactor,
             [=, caller = *std::move(caller), decide = std::move(decide)] {
               Finish(reactor, Take(decide(caller), response));
             });
    return reactor;
  }

  // The same, of what changes `resource`.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Change(grpc::CallbackServerContext* context,
                                   absl::string_view method,
                                   const std::string& resource,
                                   Response* response, Decide decide) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    absl::StatusOr<Caller> caller = guard_->Admit(*context, method);
    v1::AuditRecord record = RecordOf(*context, caller, method, resource);
    if (!caller.ok()) {
      // One too many: its record would push another out.
      if (ReasonOf(caller.status()) != kTooManyRequests) {
        Record(std::move(record), caller.status());
      }
      Finish(reactor, caller.status());
      return reactor;
    }
    RunLater(reactor, [=, this, caller = *std::move(caller),
                       record = std::move(record), decide = std::move(decide)] {
      const absl::Status status = Take(decide(caller), response);
      Record(record, status);
      Finish(reactor, status);
    });
    return reactor;
  }

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

  // On a thread of the pool; finishes the call if too many wait for one.
  void RunLater(grpc::ServerUnaryReactor* reactor, std::function<void()> task);

  // Who does what; how it ended is for Record().
  static v1::AuditRecord RecordOf(const grpc::CallbackServerContext& context,
                                  const absl::StatusOr<Caller>& caller,
                                  absl::string_view method,
                                  const std::string& resource);
  void Record(v1::AuditRecord record, const absl::Status& status);

  CallGuard* const guard_;
  JobJournal* const audit_;
  DecisionPool pool_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
