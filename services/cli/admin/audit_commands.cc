#include <cstdint>
#include <vector>

#include "common/status.h"
#include "services/cli/admin/list_all.h"
#include "services/cli/admin/member_commands.h"
#include "services/cli/admin/output/member_view.h"

namespace paceline {
namespace {

struct AuditFlags : CommonFlags {
  int64_t limit = 100;
};

absl::Status ListAudit(Session& session, const AuditFlags& flags) {
  if (flags.limit < 0) {
    return absl::InvalidArgumentError("--limit: must not be negative");
  }
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::ListAuditRecordsResponse response,
                            ListAll(*client, &ClusterApi::ListAuditRecords,
                                    v1::ListAuditRecordsRequest(), flags.limit,
                                    [](v1::ListAuditRecordsResponse& page) {
                                      return page.mutable_audit_records();
                                    }));
  const std::vector<const v1::AuditRecord*> records =
      Pointers(response.audit_records());
  return session.Print(
      {.messages = {records.begin(), records.end()},
       .whole = &response,
       .table = [&](bool wide) { return AuditTable(records, wide); }});
}

ExitCode RunList(Session& session, const AuditFlags& flags) {
  return session.End(ListAudit(session, flags));
}

}  // namespace

void AddAuditCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& audit = *root.add_subcommand("audit", "The record of who did what");
  audit.require_subcommand(1);
  const auto list =
      AddCommand<AuditFlags>(audit, "list", "List records, the newest first",
                             chosen, CommonChoice(), &RunList);
  list.app->add_option("--limit", list.flags->limit, "At most so many; 0: all")
      ->capture_default_str();
}

}  // namespace paceline
