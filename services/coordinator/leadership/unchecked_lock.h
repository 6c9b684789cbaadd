#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_UNCHECKED_LOCK_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_UNCHECKED_LOCK_H_

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/coordinator/leadership/leader_lock.h"

namespace paceline {

// A record that nobody else sees: a person says who leads, and answers for it
// that there is one alone.
class UncheckedLock final : public LeaderLock {
 public:
  absl::StatusOr<Seen> Read() override {
    return Seen{.record = record_, .version = absl::StrCat(version_)};
  }
  absl::StatusOr<std::string> Write(const LeaderRecord& record,
                                    const std::string& /*version*/) override {
    record_ = record;
    return absl::StrCat(++version_);
  }

 private:
  std::optional<LeaderRecord> record_;
  int64_t version_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_UNCHECKED_LOCK_H_
