#ifndef PACELINE_SERVICES_WORKER_DATA_IMAGE_SHAPE_H_
#define PACELINE_SERVICES_WORKER_DATA_IMAGE_SHAPE_H_

#include <cstdint>

namespace paceline {

// The size of one image. Pixels lie plane by plane: [channels, height, width].
struct ImageShape {
  int channels = 0;
  int height = 0;
  int width = 0;

  int64_t size() const { return int64_t{channels} * height * width; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_IMAGE_SHAPE_H_
