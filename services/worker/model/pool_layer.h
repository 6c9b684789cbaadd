#ifndef PACELINE_SERVICES_WORKER_MODEL_POOL_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_POOL_LAYER_H_

#include "services/worker/model/layer.h"

namespace paceline {

enum class PoolKind { kMax, kAverage };

// The largest value or the mean of square windows of planes. A window as large
// as the (square) plane makes it a global pool.
class PoolLayer final : public Layer {
 public:
  // REQUIRES: input is in planes, not smaller than the window.
  PoolLayer(PoolKind kind, const FeatureShape& input, int64_t window,
            int64_t stride);

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  PoolShape ShapeOf(int64_t batch) const;

  const PoolKind kind_;
  const PoolShape sample_;  // Of a batch of one.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_POOL_LAYER_H_
