#include "services/coordinator/jobs/resource_name.h"

#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/field_checks.h"
#include "common/plain_name.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

// The variable parts of `name`, which looks as `form` does: "a/B/c/D".
absl::StatusOr<std::vector<absl::string_view>> Parts(absl::string_view field,
                                                     absl::string_view name,
                                                     absl::string_view form) {
  if (name.empty()) {
    return InvalidField(field, absl::StrCat("is required, as ", form));
  }
  const std::vector<absl::string_view> got = absl::StrSplit(name, '/');
  const std::vector<absl::string_view> want = absl::StrSplit(form, '/');
  std::vector<absl::string_view> parts;
  bool matches = got.size() == want.size();
  for (size_t i = 0; matches && i < got.size(); ++i) {
    const bool variable = i % 2 == 1;
    matches = variable || got[i] == want[i];
    if (variable) parts.push_back(got[i]);
  }
  if (matches) return parts;
  return InvalidField(field,
                      absl::StrCat("is ", Quoted(name), "; must be ", form));
}

}  // namespace

std::string JobName::Format() const {
  return absl::StrCat("namespaces/", name_space, "/jobs/", job);
}

std::string CheckpointName::Format() const {
  return absl::StrCat(job.Format(), "/checkpoints/", checkpoint);
}

absl::Status CheckId(absl::string_view field, absl::string_view id) {
  if (IsId(id)) return absl::OkStatus();
  return InvalidField(field, absl::StrCat(Quoted(id), " is no id: ", kIdRule));
}

absl::StatusOr<std::string> ParseNamespaceName(absl::string_view field,
                                               absl::string_view name) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> parts,
                            Parts(field, name, "namespaces/NAMESPACE"));
  PACELINE_RETURN_IF_ERROR(CheckId(field, parts[0]));
  return std::string(parts[0]);
}

absl::StatusOr<std::string> ParseNamespaceOrAll(absl::string_view field,
                                                absl::string_view name) {
  if (name == "namespaces/-") return "-";
  return ParseNamespaceName(field, name);
}

absl::StatusOr<JobName> ParseJobName(absl::string_view field,
                                     absl::string_view name) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<absl::string_view> parts,
      Parts(field, name, "namespaces/NAMESPACE/jobs/JOB"));
  for (const absl::string_view part : parts) {
    PACELINE_RETURN_IF_ERROR(CheckId(field, part));
  }
  return JobName{std::string(parts[0]), std::string(parts[1])};
}

absl::StatusOr<CheckpointName> ParseCheckpointName(absl::string_view field,
                                                   absl::string_view name) {
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<absl::string_view> parts,
      Parts(field, name,
            "namespaces/NAMESPACE/jobs/JOB/checkpoints/CHECKPOINT"));
  for (const absl::string_view part : parts) {
    PACELINE_RETURN_IF_ERROR(CheckId(field, part));
  }
  return CheckpointName{{std::string(parts[0]), std::string(parts[1])},
                        std::string(parts[2])};
}

namespace {

absl::StatusOr<std::string> ParseMemberName(absl::string_view field,
                                            absl::string_view name,
                                            absl::string_view pattern) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> parts,
                            Parts(field, name, pattern));
  if (IsPlainName(parts[0])) return std::string(parts[0]);
  return InvalidField(
      field, absl::StrCat("is ", Quoted(name), "; a member's name has ",
                          kPlainNameRule));
}

}  // namespace

absl::StatusOr<std::string> ParseWorkerName(absl::string_view field,
                                            absl::string_view name) {
  return ParseMemberName(field, name, "workers/WORKER");
}

absl::StatusOr<std::string> ParseServerName(absl::string_view field,
                                            absl::string_view name) {
  return ParseMemberName(field, name, "servers/SERVER");
}

std::string FormatWorkerName(absl::string_view worker) {
  return absl::StrCat("workers/", worker);
}

std::string FormatServerName(absl::string_view server) {
  return absl::StrCat("servers/", server);
}

std::string DrawId(absl::string_view prefix, Rng& rng) {
  constexpr absl::string_view kDigits = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr size_t kDrawn = 10;
  CHECK(IsId(prefix) && prefix.size() + 1 + kDrawn <= kPlainNameMax);
  std::string id = absl::StrCat(prefix, "-");
  for (size_t i = 0; i < kDrawn; ++i) {
    id.push_back(kDigits[rng.Below(kDigits.size())]);
  }
  return id;
}

}  // namespace paceline
