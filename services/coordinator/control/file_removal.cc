#include "services/coordinator/control/file_removal.h"

#include <utility>

namespace paceline {

std::shared_ptr<FileRemoval> FileRemoval::Begin(
    FolderLanes& lanes, const std::string& lane,
    std::function<absl::Status()> remove) {
  auto removal = std::make_shared<FileRemoval>();
  const absl::Status put = lanes.Put(
      lane, [removal, remove = std::move(remove)] { removal->End(remove()); });
  if (!put.ok()) removal->End(put);
  return removal;
}

std::shared_ptr<FileRemoval> FileRemoval::OfNothing() {
  auto removal = std::make_shared<FileRemoval>();
  removal->End(absl::OkStatus());
  return removal;
}

std::optional<absl::Status> FileRemoval::outcome() const {
  absl::MutexLock lock(&mu_);
  return outcome_;
}

std::optional<absl::Status> FileRemoval::Await(absl::Time deadline) const {
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return outcome_.has_value();
  };
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithDeadline(absl::Condition(&ended), deadline);
  return outcome_;
}

void FileRemoval::End(const absl::Status& outcome) {
  absl::MutexLock lock(&mu_);
  outcome_ = outcome;
}

}  // namespace paceline
