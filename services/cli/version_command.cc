#include "services/cli/version_command.h"

#include "absl/strings/str_cat.h"
#include "services/cli/json_fields.h"

namespace paceline {

std::string VersionText(bool json) {
  if (!json) return absl::StrCat("paceline ", PACELINE_VERSION, "\n");
  Json document;
  document["client"]["version"] = PACELINE_VERSION;
  return absl::StrCat(document.dump(2), "\n");
}

}  // namespace paceline
