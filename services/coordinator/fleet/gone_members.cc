#include "services/coordinator/fleet/gone_members.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_details.h"

namespace paceline {

void GoneMembers::Note(const std::string& name, absl::Time when,
                       const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  const auto same = absl::c_find_if(
      members_, [&](const Member& member) { return member.name == name; });
  if (same != members_.end()) members_.erase(same);
  members_.push_back({name, when, why});
  if (members_.size() > kKept) members_.pop_front();
}

absl::Status GoneMembers::NotConnected(absl::string_view type,
                                       const std::string& name) const {
  std::string text = absl::StrCat(name, " is not connected");
  {
    absl::MutexLock lock(&mu_);
    const auto it = absl::c_find_if(
        members_, [&](const Member& member) { return member.name == name; });
    if (it == members_.end()) {
      absl::StrAppend(&text, ", and this coordinator has not seen it lately");
    } else {
      // What the member was told to do is no news to people.
      absl::StrAppend(&text, ": it ", it->why.ok() ? "left" : "was given up",
                      " at ",
                      absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", it->when,
                                       absl::UTCTimeZone()),
                      it->why.ok() ? "" : ", because ",
                      absl::StripSuffix(it->why.message(), ": register anew"));
    }
  }
  absl::StrAppend(&text,
                  ". Its log was with its process: read what that has written "
                  "to its standard error, where it ran (kubectl logs "
                  "--previous, journalctl -u)");
  // With the details of what is not there.
  absl::Status status(absl::StatusCode::kNotFound, text);
  NotFound(type, name)
      .ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
        status.SetPayload(url, payload);
      });
  return status;
}

}  // namespace paceline
