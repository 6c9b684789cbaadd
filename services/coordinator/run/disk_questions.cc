#include "services/coordinator/run/disk_questions.h"

namespace paceline {

DiskQuestions::DiskQuestions(std::shared_ptr<FolderLanes> lanes, Step step)
    : lanes_(std::move(lanes)) {
  absl::MutexLock lock(&asker_->mu);
  asker_->step = std::move(step);
}

void DiskQuestions::Ask(const std::string& folder, Question question) {
  const auto answer = [asked = std::make_shared<Question>(std::move(question)),
                       asker = asker_](const absl::Status& refused) {
    const RunInput input = (*asked)(refused);
    absl::MutexLock lock(&asker->mu);
    if (asker->step != nullptr) asker->step(input);
  };
  const absl::Status put =
      lanes_->Put(LaneOf(folder), [answer] { answer(absl::OkStatus()); });
  if (!put.ok()) answer(put);
}

void DiskQuestions::Close() {
  absl::MutexLock lock(&asker_->mu);
  asker_->step = nullptr;
}

}  // namespace paceline
