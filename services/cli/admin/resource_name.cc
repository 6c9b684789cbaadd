#include "services/cli/admin/resource_name.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace paceline {
namespace {

using Parts = std::vector<absl::string_view>;

bool AllFilled(const Parts& parts) {
  for (absl::string_view part : parts) {
    if (part.empty()) return false;
  }
  return true;
}

bool IsJob(const Parts& parts) {
  return parts.size() == 4 && parts[0] == "namespaces" && parts[2] == "jobs";
}

absl::Status WrongName(absl::string_view typed, absl::string_view kind,
                       absl::string_view forms) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", typed, "\" names no ", kind, ": give ", forms));
}

// The part after `collection`, where the name has it at `index`.
absl::string_view PartAfter(absl::string_view name,
                            absl::string_view collection, size_t index) {
  const Parts parts = absl::StrSplit(name, '/');
  return parts.size() > index + 1 && parts[index] == collection
             ? parts[index + 1]
             : absl::string_view();
}

}  // namespace

absl::StatusOr<std::string> JobName(absl::string_view space,
                                    absl::string_view typed) {
  const Parts parts = absl::StrSplit(typed, '/');
  if (AllFilled(parts)) {
    if (parts.size() == 1) {
      return absl::StrCat("namespaces/", space, "/jobs/", typed);
    }
    if (IsJob(parts)) return std::string(typed);
  }
  return WrongName(typed, "job", "JOB or namespaces/NAMESPACE/jobs/JOB");
}

absl::StatusOr<std::string> CheckpointName(absl::string_view space,
                                           absl::string_view job,
                                           absl::string_view typed) {
  const Parts parts = absl::StrSplit(typed, '/');
  if (AllFilled(parts)) {
    if (parts.size() == 1 && !job.empty()) {
      return absl::StrCat(job, "/checkpoints/", typed);
    }
    if (parts.size() == 2) {
      return absl::StrCat("namespaces/", space, "/jobs/", parts[0],
                          "/checkpoints/", parts[1]);
    }
    if (parts.size() == 6 && IsJob({parts.begin(), parts.begin() + 4}) &&
        parts[4] == "checkpoints") {
      return std::string(typed);
    }
  }
  return WrongName(typed, "checkpoint",
                   absl::StrCat(job.empty() ? "" : "CHECKPOINT, ",
                                "JOB/CHECKPOINT or the full name, "
                                "namespaces/NAMESPACE/jobs/JOB/checkpoints/"
                                "CHECKPOINT"));
}

absl::StatusOr<std::string> WorkerName(absl::string_view typed) {
  const Parts parts = absl::StrSplit(typed, '/');
  if (AllFilled(parts)) {
    if (parts.size() == 1) return absl::StrCat("workers/", typed);
    if (parts.size() == 2 && parts[0] == "workers") return std::string(typed);
  }
  return WrongName(typed, "worker", "WORKER or workers/WORKER");
}

absl::StatusOr<std::string> ServerName(absl::string_view typed) {
  const Parts parts = absl::StrSplit(typed, '/');
  if (AllFilled(parts)) {
    if (parts.size() == 1) return absl::StrCat("servers/", typed);
    if (parts.size() == 2 && parts[0] == "servers") return std::string(typed);
  }
  return WrongName(typed, "server", "SERVER or servers/SERVER");
}

absl::string_view LastPart(absl::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == absl::string_view::npos ? name : name.substr(slash + 1);
}

absl::string_view NamespaceOf(absl::string_view name) {
  return PartAfter(name, "namespaces", 0);
}

absl::string_view JobIdOf(absl::string_view name) {
  return PartAfter(name, "jobs", 2);
}

}  // namespace paceline
