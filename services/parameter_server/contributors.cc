#include "services/parameter_server/contributors.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<std::shared_ptr<Contributor>> Contributors::Find(
    uint64_t incarnation) {
  {
    absl::ReaderMutexLock lock(&mu_);
    const auto found = entries_.find(incarnation);
    if (found != entries_.end()) return found->second.contributor;
  }
  absl::MutexLock lock(&mu_);
  const auto found = entries_.find(incarnation);
  if (found != entries_.end()) return found->second.contributor;
  if (unfenced_ >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(unfenced_, " incarnations have pushed and were not fenced",
                     ", the most allowed; fence those that have left"));
  }
  ++unfenced_;
  auto contributor = std::make_shared<Contributor>(blocks_);
  entries_[incarnation].contributor = contributor;
  return contributor;
}

FencedPush Contributors::Fence(uint64_t incarnation) {
  std::shared_ptr<Contributor> contributor;
  {
    absl::MutexLock lock(&mu_);
    Entry& entry = entries_[incarnation];
    if (entry.contributor == nullptr) {
      entry.contributor = std::make_shared<Contributor>(blocks_);
    } else if (!entry.fenced) {
      --unfenced_;
    }
    entry.fenced = true;
    contributor = entry.contributor;
  }
  // Outside the lock: it waits for pushes in flight, and other incarnations
  // must not.
  return contributor->Fence();
}

bool Contributors::IsFenced(uint64_t incarnation) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto found = entries_.find(incarnation);
  return found != entries_.end() && found->second.fenced;
}

}  // namespace paceline
