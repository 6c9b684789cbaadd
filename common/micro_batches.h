#ifndef PACELINE_COMMON_MICRO_BATCHES_H_
#define PACELINE_COMMON_MICRO_BATCHES_H_

#include <cstdint>

namespace paceline {

// The size of the pieces in which a batch is computed: at most `most`, and all
// about as large. Real and virtual workers cut alike.
// REQUIRES: samples >= 1, most >= 1.
constexpr uint32_t MicroBatchSize(uint32_t samples, uint32_t most) {
  const uint32_t pieces = (samples + most - 1) / most;
  return (samples + pieces - 1) / pieces;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_MICRO_BATCHES_H_
