#include "services/cli/admin/output/checkpoint_view.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "services/cli/admin/output/short_age.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/progress_view.h"

namespace paceline {

Table CheckpointTable(const std::vector<const v1::Checkpoint*>& checkpoints,
                      bool wide, absl::Time now) {
  Table table;
  table.headers = {"NAME",    "JOB",   "STATE", "VERSION",
                   "SAMPLES", "BYTES", "EXACT", "AGE"};
  if (wide) {
    for (const char* header : {"WROTE", "SERVERS", "DIRECTORY", "REASON"}) {
      table.headers.emplace_back(header);
    }
  }
  for (const v1::Checkpoint* checkpoint : checkpoints) {
    std::vector<std::string> row = {std::string(LastPart(checkpoint->name())),
                                    std::string(JobIdOf(checkpoint->name())),
                                    StateText(checkpoint->state()),
                                    absl::StrCat(checkpoint->version()),
                                    absl::StrCat(checkpoint->samples()),
                                    BytesText(checkpoint->bytes()),
                                    checkpoint->exact() ? "yes" : "no",
                                    ShortAge(checkpoint->create_time(), now)};
    if (wide) {
      row.push_back(ShortSeconds(checkpoint->write_seconds()));
      row.push_back(absl::StrCat(checkpoint->servers()));
      row.push_back(checkpoint->directory());
      row.push_back(checkpoint->state_reason());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string StateText(v1::Checkpoint::State state) {
  const std::string& name = v1::Checkpoint::State_Name(state);
  return name.empty() ? absl::StrCat(static_cast<int>(state)) : name;
}

}  // namespace paceline
