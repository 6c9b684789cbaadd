#ifndef PACELINE_SERVICES_WORKER_MODEL_ARCHITECTURES_H_
#define PACELINE_SERVICES_WORKER_MODEL_ARCHITECTURES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "services/worker/data/image_shape.h"
#include "services/worker/model/chain.h"

namespace paceline {

// A model by name. `build` makes its layers from images to logits.
struct Architecture {
  absl::string_view name;
  int side_min;  // The smallest height and width that it can take.
  Chain (*build)(const ImageShape& input, int classes);
};

// All of ModelNames(), in their order.
const std::vector<Architecture>& Architectures();

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_ARCHITECTURES_H_
