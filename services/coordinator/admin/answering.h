#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_

#include <google/protobuf/empty.pb.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/grpc_status.h"
#include "common/security/call_guard.h"
#include "services/coordinator/store/job_journal.h"

namespace paceline {

// What all calls of the admin API have in common: who calls is asked first,
// every error gets an ErrorInfo, and what changes anything, or was to, is in
// the audit record. Thread-safe.
class Answering {
 public:
  // Both outlive it.
  Answering(CallGuard* guard, JobJournal* audit)
      : guard_(guard), audit_(audit) {}

  // Answers one call of `method`, "/paceline.v1.JobService/GetJob", with what
  // `decide` (of a Caller) gives: a StatusOr of the response, or a Status where
  // that is empty.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context,
                                 absl::string_view method, Response* response,
                                 Decide decide) {
    const absl::StatusOr<Caller> caller = guard_->Admit(*context, method);
    absl::Status status = caller.status();
    if (status.ok()) status = Take(decide(*caller), response);
    return Finish(context, status);
  }

  // The same, of what changes `resource`.
  template <typename Response, typename Decide>
  grpc::ServerUnaryReactor* Change(grpc::CallbackServerContext* context,
                                   absl::string_view method,
                                   const std::string& resource,
                                   Response* response, Decide decide) {
    const absl::StatusOr<Caller> caller = guard_->Admit(*context, method);
    absl::Status status = caller.status();
    if (status.ok()) status = Take(decide(*caller), response);
    Record(*context, caller, method, resource, status);
    return Finish(context, status);
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

  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpc(Explained(status)));
    return reactor;
  }

  void Record(const grpc::CallbackServerContext& context,
              const absl::StatusOr<Caller>& caller, absl::string_view method,
              const std::string& resource, const absl::Status& status);

  CallGuard* const guard_;
  JobJournal* const audit_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_ANSWERING_H_
