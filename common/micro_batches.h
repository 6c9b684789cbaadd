#ifndef PACELINE_COMMON_MICRO_BATCHES_H_
#define PACELINE_COMMON_MICRO_BATCHES_H_

#include <algorithm>
#include <cstdint>

namespace paceline {

// The size of the pieces in which a batch is computed: at most `most`, and all
// about as large. Real and virtual workers cut alike.
// REQUIRES: samples >= 1, most >= 1.
constexpr uint32_t MicroBatchSize(uint32_t samples, uint32_t most) {
  const uint32_t pieces = (samples + most - 1) / most;
  return (samples + pieces - 1) / pieces;
}

// Samples computed at once at most, of a job with this batch size and this
// micro-batch, under a grant with that one; of these 0 is "no wish".
constexpr uint32_t MicroBatchLimit(uint32_t batch_size, uint32_t of_job,
                                   uint32_t of_grant) {
  uint32_t limit = batch_size;
  if (of_job > 0) limit = std::min(limit, of_job);
  if (of_grant > 0) limit = std::min(limit, of_grant);
  return limit;
}

// The same of a worker that computes in micro-batches of its own.
constexpr uint32_t MicroBatchLimit(uint32_t batch_size, uint32_t of_job,
                                   uint32_t of_worker, uint32_t of_grant) {
  return MicroBatchLimit(
      batch_size, MicroBatchLimit(batch_size, of_job, of_worker), of_grant);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_MICRO_BATCHES_H_
