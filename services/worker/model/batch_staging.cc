#include "services/worker/model/batch_staging.h"

#include "common/check.h"
#include "common/status.h"

namespace paceline {

absl::Status BatchStaging::Allocate(Backend* backend, int64_t pixels,
                                    int classes, int batch_max) {
  backend_ = backend;
  pixels_ = pixels;
  classes_ = classes;
  batch_max_ = batch_max;
  for (Slot& slot : slots_) {
    PACELINE_ASSIGN_OR_RETURN(slot.data,
                              backend->Allocate(batch_max * (pixels + 1)));
    PACELINE_ASSIGN_OR_RETURN(slot.labels_host,
                              backend->AllocateHost(batch_max));
    PACELINE_ASSIGN_OR_RETURN(slot.filled, backend->MakeMark());
    PACELINE_ASSIGN_OR_RETURN(slot.read, backend->MakeMark());
  }
  return absl::OkStatus();
}

void BatchStaging::Stage(const float* images, const uint8_t* labels, int n) {
  CHECK(n > 0 && n <= batch_max_);
  CHECK(staged_ - ended_ < kSlots);
  Slot& slot = slots_[staged_++ % kSlots];
  slot.n = n;
  const DeviceSpan label_numbers = slot.labels_host->span().First(n);
  for (int i = 0; i < n; ++i) {
    CHECK(labels[i] < classes_);
    label_numbers.data[i] = labels[i];
  }
  const DeviceSpan data = slot.data->span();
  backend_->Follow(Lane::kUpload, *slot.read);
  backend_->Upload(Lane::kUpload, {images, static_cast<size_t>(n * pixels_)},
                   data.First(n * pixels_));
  backend_->Upload(Lane::kUpload, {label_numbers.data, static_cast<size_t>(n)},
                   data.Sub(batch_max_ * pixels_, n));
  backend_->Set(*slot.filled, Lane::kUpload);
}

StagedBatch BatchStaging::Begin() {
  CHECK(begun_ < staged_ && begun_ == ended_);
  const int index = static_cast<int>(begun_++ % kSlots);
  const Slot& slot = slots_[index];
  backend_->Follow(Lane::kCompute, *slot.filled);
  const DeviceSpan data = slot.data->span();
  return {slot.n, index, data.First(slot.n * pixels_),
          data.Sub(batch_max_ * pixels_, slot.n)};
}

void BatchStaging::End() {
  backend_->Set(*slots_[ended_++ % kSlots].read, Lane::kCompute);
}

}  // namespace paceline
