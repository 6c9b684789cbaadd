#include "services/cli/membership_changes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/status.h"
#include "services/cli/flag_values.h"

namespace paceline {
namespace {

using Kind = MembershipChange::Kind;

constexpr Nanos kLatest = Nanos{10} * 365 * 86'400 * 1'000'000'000;

absl::string_view FlagOf(Kind kind) {
  switch (kind) {
    case Kind::kJoin:
      return "--join";
    case Kind::kLeave:
      return "--leave";
    case Kind::kCrash:
      return "--crash";
  }
  return "";
}

std::optional<size_t> FindWorker(absl::string_view text,
                                 const std::vector<WorkerSpec>& workers) {
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].name == text) return i;
  }
  size_t index = 0;
  if (absl::SimpleAtoi(text, &index) && index < workers.size()) return index;
  return std::nullopt;
}

absl::Status Read(Kind kind, absl::string_view list,
                  const std::vector<WorkerSpec>& workers,
                  std::vector<MembershipChange>& changes) {
  const absl::string_view flag = FlagOf(kind);
  if (list.empty()) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(list, ',')) {
    const std::vector<absl::string_view> sides = absl::StrSplit(part, '@');
    if (sides.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " \"", part, "\": want WORKER@TIME, such as 3@60s"));
    }
    const std::optional<size_t> worker = FindWorker(sides[0], workers);
    if (!worker.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " ", part, ": there is no such worker; they are ",
                       "numbered from 0 to ", workers.size() - 1));
    }
    PACELINE_ASSIGN_OR_RETURN(const Nanos at,
                              ParseNanos(flag, sides[1], 0, kLatest));
    changes.push_back({kind, *worker, at});
  }
  return absl::OkStatus();
}

// That the changes, sorted, make sense for each worker.
absl::Status Check(const std::vector<MembershipChange>& changes,
                   const std::vector<WorkerSpec>& workers) {
  std::vector<std::optional<bool>> there(workers.size());
  size_t at_start = workers.size();
  std::vector<Nanos> latest(workers.size(), -1);
  for (const MembershipChange& change : changes) {
    if (std::exchange(latest[change.worker], change.at) == change.at) {
      return absl::InvalidArgumentError(absl::StrCat(
          FlagOf(change.kind), " ", workers[change.worker].name, "@",
          absl::FormatDuration(absl::Nanoseconds(change.at)),
          ": two changes of one worker at one instant; which comes first?"));
    }
    const bool joins = change.kind == Kind::kJoin;
    std::optional<bool>& now = there[change.worker];
    if (!now.has_value() && joins) --at_start;
    if (now.value_or(!joins) == joins) {
      return absl::InvalidArgumentError(absl::StrCat(
          FlagOf(change.kind), " ", workers[change.worker].name, "@",
          absl::FormatDuration(absl::Nanoseconds(change.at)),
          ": the worker is ", joins ? "already there" : "not there"));
    }
    now = joins;
  }
  if (at_start > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--join: nobody is there at the start; leave one worker out");
}

}  // namespace

absl::StatusOr<std::vector<MembershipChange>> ParseMembershipChanges(
    const SimulateFlags& flags, const std::vector<WorkerSpec>& workers) {
  std::vector<MembershipChange> changes;
  PACELINE_RETURN_IF_ERROR(Read(Kind::kJoin, flags.join, workers, changes));
  PACELINE_RETURN_IF_ERROR(Read(Kind::kLeave, flags.leave, workers, changes));
  PACELINE_RETURN_IF_ERROR(Read(Kind::kCrash, flags.crash, workers, changes));
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MembershipChange& a, const MembershipChange& b) {
                     return std::pair(a.at, a.worker) <
                            std::pair(b.at, b.worker);
                   });
  PACELINE_RETURN_IF_ERROR(Check(changes, workers));
  return changes;
}

}  // namespace paceline
