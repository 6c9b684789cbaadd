// The list of audit records.

#include <cstdint>
#include <utility>
#include <vector>

#include "common/status.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

// Records that are looked at together for some that may be seen.
constexpr int64_t kLookedAt = 1'000;

}  // namespace

absl::StatusOr<v1::ListAuditRecordsResponse> Jobs::ListAuditRecords(
    const v1::ListAuditRecordsRequest& request,
    const Namespaces& visible) const {
  PACELINE_ASSIGN_OR_RETURN(const SequencePage page, CheckList(request));
  // What happened before the call is in the answer, unless the disk is slow.
  journal_->Flush(kFlushTimeout).IgnoreError();
  const int64_t wanted = page.size + 1;
  const int64_t looked_at = visible.all() ? wanted : kLookedAt;
  std::vector<v1::AuditRecord> records;
  int64_t before = page.after;
  for (bool more = true; more;) {
    PACELINE_ASSIGN_OR_RETURN(std::vector<v1::AuditRecord> found,
                              store_->ListAuditRecords(before, looked_at));
    more = static_cast<int64_t>(found.size()) == looked_at;
    for (v1::AuditRecord& record : found) {
      before = record.sequence();
      if (!visible.HasResource(record.resource())) continue;
      records.push_back(std::move(record));
      if (static_cast<int64_t>(records.size()) < wanted) continue;
      more = false;
      break;
    }
  }
  v1::ListAuditRecordsResponse response;
  response.set_next_page_token(
      TakeSequencePage(std::move(records), page, [&](v1::AuditRecord& record) {
        *response.add_audit_records() = std::move(record);
        return response.audit_records().rbegin()->sequence();
      }));
  return response;
}

}  // namespace paceline
