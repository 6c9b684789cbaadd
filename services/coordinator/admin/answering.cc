#include "services/coordinator/admin/answering.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/proto_time.h"
#include "common/status_details.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// The most of a caller's own text that is kept in a record.
constexpr size_t kLongest = 512;

}  // namespace

absl::Status Answering::Explained(const absl::Status& status) {
  if (status.ok() || !ReasonOf(status).empty()) return status;
  return WithReason(status, absl::StatusCodeToString(status.code()));
}

Answering::Answering(CallGuard* guard, JobJournal* audit,
                     const Options& options)
    : guard_(guard),
      audit_(audit),
      queue_(options.threads, options.waiting_max) {}

absl::Status Answering::GivenUp() {
  return absl::CancelledError(
      "the caller gave the call up before its turn came: nothing was done");
}

absl::Status Answering::Submit(std::function<void()> task) {
  if (queue_.Submit(std::move(task))) return absl::OkStatus();
  return RetryLater(WithReason(absl::ResourceExhaustedError(
                                   "too many calls wait for an answer: try "
                                   "again later"),
                               "TOO_MANY_CALLS"),
                    absl::Seconds(1));
}

v1::AuditRecord Answering::RecordOf(const Caller& caller,
                                    absl::string_view method,
                                    const std::string& resource) {
  v1::AuditRecord record;
  *record.mutable_time() = ToProto(absl::Now());
  record.set_identity(caller.identity);
  record.set_role(caller.role);
  record.set_peer(caller.peer);
  record.set_method(std::string(method));
  record.set_resource(std::string(CutUtf8(resource, kLongest)));
  return record;
}

void Answering::Record(v1::AuditRecord record, const absl::Status& status) {
  record.set_code(static_cast<int>(status.code()));
  record.set_message(std::string(CutUtf8(status.message(), kLongest)));
  audit_->AppendAuditRecord(record);
}

absl::Status Answering::Admit(const grpc::ServerContextBase& context,
                              absl::string_view method,
                              const google::protobuf::MessageLite& request,
                              const std::string& resource, Caller& caller) {
  const absl::Status admitted =
      guard_->Admit(context, method, resource, caller);
  caller.Took(request.ByteSizeLong(), admitted.ok());
  return admitted;
}

void Answering::RecordRefusal(const Caller& caller,
                              const v1::AuditRecord& record,
                              const absl::Status& status) {
  // One too many.
  if (ReasonOf(status) == kTooManyRequests) return;
  if (guard_->RecordsRefusalOf(caller)) Record(record, status);
}

}  // namespace paceline
