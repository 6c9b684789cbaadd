#include "services/coordinator/sync/core/ada_scale.h"

#include <cmath>

namespace paceline {

double AdaScaleGain(double batches, double noise) {
  if (std::isinf(noise)) return batches;
  return batches * ((noise + 1) / (noise + batches));
}

}  // namespace paceline
