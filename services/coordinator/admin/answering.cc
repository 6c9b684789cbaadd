#include "services/coordinator/admin/answering.h"

#include "absl/time/clock.h"
#include "common/status_details.h"
#include "services/coordinator/control/proto_time.h"

namespace paceline {
namespace {

// Of what callers choose, in a record that is kept.
constexpr size_t kLongest = 512;

}  // namespace

absl::Status Answering::Explained(const absl::Status& status) {
  if (status.ok() || !ReasonOf(status).empty()) return status;
  return WithReason(status, absl::StatusCodeToString(status.code()));
}

void Answering::Record(const grpc::CallbackServerContext& context,
                       const absl::StatusOr<Caller>& caller,
                       absl::string_view method, const std::string& resource,
                       const absl::Status& status) {
  v1::AuditRecord record;
  *record.mutable_time() = ToProto(absl::Now());
  if (caller.ok()) {
    record.set_identity(caller->identity);
    record.set_role(caller->role);
  }
  record.set_peer(context.peer());
  record.set_method(std::string(method));
  record.set_resource(resource.substr(0, kLongest));
  record.set_code(static_cast<int>(status.code()));
  record.set_message(std::string(status.message().substr(0, kLongest)));
  audit_->AppendAuditRecord(record);
}

}  // namespace paceline
