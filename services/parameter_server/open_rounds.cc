#include "services/parameter_server/open_rounds.h"

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

absl::Status OpenRounds::Open(uint64_t round) {
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(round);
  if (found != blocks_.end()) {
    ++found->second;
    return absl::OkStatus();
  }
  if (blocks_.size() >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("round ", round, " would be open beside ", blocks_.size(),
                     " others, the most allowed; close one first, or push "
                     "immediately"));
  }
  blocks_.emplace(round, 1);
  return absl::OkStatus();
}

void OpenRounds::Close(uint64_t round) {
  absl::MutexLock lock(&mu_);
  const auto found = blocks_.find(round);
  CHECK(found != blocks_.end());
  if (--found->second == 0) blocks_.erase(found);
}

size_t OpenRounds::size() const {
  absl::MutexLock lock(&mu_);
  return blocks_.size();
}

}  // namespace paceline
