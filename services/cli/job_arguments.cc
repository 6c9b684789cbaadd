#include "services/cli/job_arguments.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/field_checks.h"
#include "common/plain_name.h"
#include "common/status.h"

namespace paceline {

absl::Status AddArguments(const std::vector<std::string>& values,
                          v1::JobSpec& spec) {
  std::set<absl::string_view> given;
  for (const std::string& value : values) {
    const absl::string_view text = value;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--argument ", Quoted(text), ": must be KEY=VALUE, as depth=18"));
    }
    const absl::string_view key = text.substr(0, equals);
    PACELINE_RETURN_IF_ERROR(CheckPlainName(
        absl::StrCat("--argument ", Quoted(text), ": the key"), key));
    if (!given.insert(key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--argument ", key, " is given twice"));
    }
    (*spec.mutable_arguments())[std::string(key)] =
        std::string(text.substr(equals + 1));
  }
  return absl::OkStatus();
}

}  // namespace paceline
