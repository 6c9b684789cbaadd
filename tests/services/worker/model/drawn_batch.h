#ifndef PACELINE_TESTS_SERVICES_WORKER_MODEL_DRAWN_BATCH_H_
#define PACELINE_TESTS_SERVICES_WORKER_MODEL_DRAWN_BATCH_H_

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "services/worker/data/image_shape.h"

namespace paceline {

// Images and labels of which the seed says what they are.
struct DrawnBatch {
  static constexpr ImageShape kShape{3, 16, 16};
  static constexpr int kClasses = 10;

  DrawnBatch(int samples, uint64_t seed)
      : n(samples), images(RandomFloats(samples * kShape.size(), seed)) {
    for (int i = 0; i < n; ++i) {
      labels.push_back(static_cast<uint8_t>((seed + i) % kClasses));
    }
  }

  // Samples [begin, end) of it.
  DrawnBatch Part(int begin, int end) const {
    DrawnBatch part(0, 0);
    part.n = end - begin;
    part.images.assign(images.begin() + begin * kShape.size(),
                       images.begin() + end * kShape.size());
    part.labels.assign(labels.begin() + begin, labels.begin() + end);
    return part;
  }

  int n;
  std::vector<float> images;
  std::vector<uint8_t> labels;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_MODEL_DRAWN_BATCH_H_
