#include "services/worker/model/pool_layer.h"

#include "common/check.h"

namespace paceline {
namespace {

FeatureShape OutputShape(const FeatureShape& input, int64_t window,
                         int64_t stride) {
  CHECK(input.layout == Layout::kPlanes);
  CHECK(input.height >= window && input.width >= window);
  return {.layout = Layout::kPlanes,
          .channels = input.channels,
          .height = (input.height - window) / stride + 1,
          .width = (input.width - window) / stride + 1};
}

}  // namespace

PoolLayer::PoolLayer(PoolKind kind, const FeatureShape& input, int64_t window,
                     int64_t stride)
    : Layer(OutputShape(input, window, stride)),
      kind_(kind),
      sample_{.planes = input.channels,
              .height = input.height,
              .width = input.width,
              .window = window,
              .stride = stride} {}

PoolShape PoolLayer::ShapeOf(int64_t batch) const {
  PoolShape shape = sample_;
  shape.planes *= batch;
  return shape;
}

void PoolLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  if (kind_ == PoolKind::kMax) {
    pass.backend.MaxPoolForward(ShapeOf(pass.batch), x, y);
  } else {
    pass.backend.AvgPoolForward(ShapeOf(pass.batch), x, y);
  }
}

void PoolLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                         DeviceSpan dx) {
  if (dx.empty()) return;
  if (kind_ == PoolKind::kMax) {
    pass.backend.MaxPoolBackward(ShapeOf(pass.batch), x, dy, dx);
  } else {
    pass.backend.AvgPoolBackward(ShapeOf(pass.batch), dy, dx);
  }
}

}  // namespace paceline
