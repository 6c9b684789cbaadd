#ifndef PACELINE_SERVICES_WORKER_DATA_NORMALIZE_H_
#define PACELINE_SERVICES_WORKER_DATA_NORMALIZE_H_

#include <cstdint>

#include "services/worker/data/dataset.h"

namespace paceline {

// to[i] = (bytes[i] / 255 - mean) / deviation.
void Normalize(const uint8_t* bytes, int64_t count,
               const Normalization& normalization, float* to);

// The same of one channel of an image of `shape`, moved behind `frame`,
// whose height and width are what is written.
void NormalizeMoved(const uint8_t* bytes, const ImageShape& shape,
                    const ImageMove& move, const Normalization& normalization,
                    const ImageShape& frame, float* to);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_NORMALIZE_H_
