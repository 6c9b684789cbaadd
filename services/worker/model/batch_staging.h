#ifndef PACELINE_SERVICES_WORKER_MODEL_BATCH_STAGING_H_
#define PACELINE_SERVICES_WORKER_MODEL_BATCH_STAGING_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gpu/backend.h"

namespace paceline {

// A micro-batch where the model reads it.
struct StagedBatch {
  int n = 0;
  int slot = 0;  // Which memory it lies in.
  DeviceView images;
  DeviceView labels;  // As numbers.
};

// Brings micro-batches to the device, the next while one is computed.
// Thread-compatible.
class BatchStaging {
 public:
  static constexpr int kSlots = 2;

  // For micro-batches of up to `batch_max` samples of `pixels` floats and one
  // of `classes` labels. `backend` outlives the staging. RESOURCE_EXHAUSTED.
  absl::Status Allocate(Backend* backend, int64_t pixels, int classes,
                        int batch_max);

  // Begins to copy a micro-batch. `images` must stay until it was computed, or
  // dropped: what is dropped may arrive torn.
  // REQUIRES: fewer than kSlots are staged or begun; n is at most batch_max;
  // the labels are below `classes`.
  void Stage(const float* images, const uint8_t* labels, int n);

  // The oldest that is staged, for what kCompute is given from now on.
  // REQUIRES: there is one.
  StagedBatch Begin();

  // What kCompute was given so far is all that reads the one that was begun.
  void End();

  // Forgets what is staged and was not begun.
  void Drop() { staged_ = begun_; }

 private:
  struct Slot {
    int n = 0;
    std::unique_ptr<Buffer> data;         // Images, then labels.
    std::unique_ptr<Buffer> labels_host;  // What is copied must stay, too.
    std::unique_ptr<Mark> filled;
    std::unique_ptr<Mark> read;
  };

  Backend* backend_ = nullptr;
  int64_t pixels_ = 0;
  int classes_ = 0;
  int batch_max_ = 0;
  std::array<Slot, kSlots> slots_;
  // Micro-batches so far; the k-th lies in slot k % kSlots.
  uint64_t staged_ = 0;
  uint64_t begun_ = 0;
  uint64_t ended_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_BATCH_STAGING_H_
