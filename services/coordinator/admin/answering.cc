#include "services/coordinator/admin/answering.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/status_details.h"
#include "common/utf8.h"
#include "services/coordinator/control/proto_time.h"

namespace paceline {
namespace {

// Of what callers choose, in a record that is kept.
constexpr size_t kLongest = 512;

// Decisions are short, or wait for the disk.
constexpr size_t kThreads = 4;
constexpr size_t kWaitingMax = 1000;

}  // namespace

absl::Status Answering::Explained(const absl::Status& status) {
  if (status.ok() || !ReasonOf(status).empty()) return status;
  return WithReason(status, absl::StatusCodeToString(status.code()));
}

Answering::Answering(CallGuard* guard, JobJournal* audit)
    : guard_(guard), audit_(audit), pool_(kThreads, kWaitingMax) {}

void Answering::RunLater(grpc::ServerUnaryReactor* reactor,
                         std::function<void()> task) {
  if (pool_.Submit(std::move(task))) return;
  Finish(reactor, RetryLater(WithReason(absl::ResourceExhaustedError(
                                            "too many calls wait for an "
                                            "answer: try again later"),
                                        "TOO_MANY_CALLS"),
                             absl::Seconds(1)));
}

v1::AuditRecord Answering::RecordOf(const grpc::CallbackServerContext& context,
                                    const absl::StatusOr<Caller>& caller,
                                    absl::string_view method,
                                    const std::string& resource) {
  v1::AuditRecord record;
  *record.mutable_time() = ToProto(absl::Now());
  if (caller.ok()) {
    record.set_identity(caller->identity);
    record.set_role(caller->role);
  }
  record.set_peer(context.peer());
  record.set_method(std::string(method));
  record.set_resource(std::string(CutUtf8(resource, kLongest)));
  return record;
}

void Answering::Record(v1::AuditRecord record, const absl::Status& status) {
  record.set_code(static_cast<int>(status.code()));
  record.set_message(std::string(CutUtf8(status.message(), kLongest)));
  audit_->AppendAuditRecord(record);
}

}  // namespace paceline
